// Account managers by id: lists and customers name them by id only.
import { list } from '$api';

export function accountManagers() {
  const managers = list('/admin/account-managers', () => ({}), { limit: 200 });
  return {
    /** Those that a customer can be assigned to. */
    get options() {
      return managers.rows.filter((one) => one.is_active).map((one) => ({ value: one.id, label: one.name }));
    },
    name(id: string | null): string | undefined {
      return managers.rows.find((one) => one.id === id)?.name;
    },
    find(id: string | null) {
      return managers.rows.find((one) => one.id === id);
    },
  };
}
