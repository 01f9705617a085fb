// Team members by id: dashboards name their ids only.
import { list } from '$api';

export function teamMembers() {
  const members = list('/admin/users', () => ({}), { limit: 200 });
  return {
    get rows() {
      return members.rows;
    },
    emailOf: (id: string | null | undefined) => members.rows.find((member) => member.id === id)?.email ?? id ?? '–',
  };
}
