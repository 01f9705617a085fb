// Which mail brings decks of an upstream, as text in a form, and back.
import type { Schema } from '$api';
import { words as all } from './words';

type Policy = Schema<'DeckMailPolicy'>;
const words = all.mail;

export type MailDraft = { senders: string; subject: string; types: string; fileName: string; mode: string; trust: boolean };

export function mailDraft(from?: Policy): MailDraft {
  return {
    senders: from?.senders.join('\n') ?? '',
    subject: from?.subject_contains ?? '',
    types: from?.file_types.length === 1 ? (from.file_types[0] ?? '') : '',
    fileName: from?.file_name_contains ?? '',
    mode: from?.mode ?? 'replace',
    trust: from?.trust_senders ?? false,
  };
}

/** Every field with its label, for people who compare two versions. */
export function mailLines(draft: MailDraft): [label: string, text: string][] {
  return [
    [words.senders, draft.senders],
    [words.subject, draft.subject],
    [words.types, draft.types || words.both],
    [words.fileName, draft.fileName],
    [words.mode, draft.mode],
    [words.trust, draft.trust ? words.yes : words.no],
  ];
}

export function mailBody(draft: MailDraft): Schema<'DeckMailPolicyUpdate'> {
  const both: Policy['file_types'] = ['csv', 'xlsx'];
  return {
    senders: draft.senders.split(/[\n,]/).map((line) => line.trim()).filter((line) => line !== ''),
    subject_contains: draft.subject.trim() || null,
    file_types: both.filter((type) => !draft.types || type === draft.types),
    file_name_contains: draft.fileName.trim() || null,
    mode: draft.mode === 'merge' ? 'merge' : 'replace',
    trust_senders: draft.trust,
  };
}
