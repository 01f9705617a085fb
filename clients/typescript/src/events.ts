// Server-sent events: what was seen of a stream over all its connections, and when to connect again.

import { ConnectionError } from "./problem.js";
import { FIRST_DELAY_MS, reconnectDelay, retryDelay } from "./retry.js";

/** The service says every 15 seconds that it is alive. */
export const LONGEST_SILENCE_MS = 45_000;

export class Following {
  lastEventId: string | undefined;
  readonly #maxRetries: number;
  #wasConnected = false;
  #tries = 0;
  #retryMs = FIRST_DELAY_MS;
  #decoder = new TextDecoder();
  #rest = "";
  #endedInCr = false;
  #id: string | undefined;
  #data: string[] = [];

  constructor(lastEventId: string | undefined, maxRetries: number) {
    this.lastEventId = lastEventId;
    this.#maxRetries = maxRetries;
  }

  /** Begins a connection, without the part of an event that the last one lost. */
  connected(): void {
    this.#wasConnected = true;
    this.#decoder = new TextDecoder();
    this.#rest = "";
    this.#endedInCr = false;
    this.#id = this.lastEventId;
    this.#data = [];
  }

  /** The data of each event that these bytes complete. */
  *feed(bytes: Uint8Array): Generator<string, void, undefined> {
    this.#tries = 0;
    let text = this.#decoder.decode(bytes, { stream: true });
    if (this.#endedInCr && text.startsWith("\n")) text = text.slice(1);
    if (text !== "") this.#endedInCr = text.endsWith("\r");
    const lines = (this.#rest + text).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") {
        this.#readField(line);
        continue;
      }
      // An id counts in a block without data too: the stream begins with one.
      this.lastEventId = this.#id;
      if (this.#data.length === 0) continue;
      const data = this.#data.join("\n");
      this.#data = [];
      yield data;
    }
  }

  #readField(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "id" && value !== "" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.#retryMs = Number(value);
  }

  /**
   * Milliseconds until the next connection; throws what another try would not mend. A stream that has been open is
   * followed without end, since a service may be down for long.
   */
  pause(failure: unknown): number {
    const tries = this.#tries++;
    let delay: number | undefined;
    if (this.#wasConnected) delay = reconnectDelay(failure, tries, this.#retryMs);
    else if (failure !== undefined && tries < this.#maxRetries) delay = retryDelay(failure, tries, true);
    if (delay === undefined) throw failure ?? new ConnectionError("the stream ended at once", false, undefined);
    return delay;
  }
}
