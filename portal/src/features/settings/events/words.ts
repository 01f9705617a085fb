// The texts of the events.

export const words = {
  title: 'Events',
  lead: 'What happened in the last 30 days, oldest first, as programs get it. New events appear at the end.',
  webhooks: 'Show webhooks',
  label: 'Events',
  type: 'Type',
  all: 'All types',
  time: 'Time',
  id: 'Event id',
  customer: 'Customer',
  noCustomer: 'None',
  empty: 'No events in this period',
  emptyText: 'Choose another type or a longer period.',
  payload: 'Event',
} as const;
