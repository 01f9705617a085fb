import { ProblemError } from '$api';
import { words } from './words';

export const MAX_BYTES = 16 * 1024 * 1024;
export const ACCEPT = '.pdf,.jpg,.jpeg,.png,application/pdf,image/jpeg,image/png';

/** Sends one file; reports the sent fraction. The key stays the same when a file is sent again. */
export type Sender = (kind: string, file: File, key: string, progress: (fraction: number) => void) => Promise<unknown>;

export class Upload {
  fraction = $state(0);
  error = $state<ProblemError>();
  refusal = $state<string>();
  readonly key = crypto.randomUUID();
  constructor(
    readonly kind: string,
    readonly file: File,
  ) {}
}

/** Files on their way. A failed one stays until it is sent again or dismissed. */
export class Uploads {
  items = $state<Upload[]>([]);

  constructor(
    private readonly send: Sender,
    private readonly done: (upload: Upload) => void,
  ) {}

  of(kind: string): Upload[] {
    return this.items.filter((item) => item.kind === kind);
  }

  add(kind: string, files: File[]): void {
    for (const file of files) {
      const item = new Upload(kind, file);
      this.items.push(item);
      if (file.size > MAX_BYTES) item.refusal = words.tooLarge(file.name);
      else void this.start(item);
    }
  }

  async start(item: Upload): Promise<void> {
    item.error = undefined;
    item.fraction = 0;
    try {
      await this.send(item.kind, item.file, item.key, (fraction) => (item.fraction = fraction));
      this.dismiss(item);
      this.done(item);
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      item.error = error;
    }
  }

  dismiss(item: Upload): void {
    this.items = this.items.filter((other) => other !== item);
  }
}
