export const words = {
  title: 'Parts',
  lead: 'Every part of the kit with ordinary and with difficult content.',
  long: 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft mbH',
  arabic: 'شركة الاتصالات الدولية',
  light: 'Light',
  dark: 'Dark',
} as const;
