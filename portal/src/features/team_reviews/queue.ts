// What waits for the team's verdict: intakes of both purposes, the one that waits longest first.
import { list } from '$api';
import { oldestFirst } from '../team_queues/queue';

export function waitingIntakes() {
  const lists = (['submitted', 'under_review'] as const).map((status) =>
    list('/admin/compliance/intakes', () => ({ query: { status } }), { limit: 100 }),
  );
  return oldestFirst(lists, (intake) => intake.submitted_at);
}

export function reviewHref(intake: { id: string; purpose: string }): string {
  return `/team/reviews/${intake.purpose === 'kyb' ? 'kyb' : 'documents'}/${intake.id}`;
}
