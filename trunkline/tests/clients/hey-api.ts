// Creates a trunk with a client by hey-api.
import { createTrunk, type Notification } from "./generated";

/** The code tells the payload. */
export function invoiceNumber(notification: Notification): string | undefined {
  return notification.code === "invoice.issued" ? notification.payload.number : undefined;
}

async function main() {
  const { data, error } = await createTrunk({
    baseUrl: process.env.API,
    auth: () => process.env.TOKEN,
    headers: { "Idempotency-Key": crypto.randomUUID() },
    body: { name: "Amsterdam PBX", zone: "eu-west", channel_cap: 30 },
  });
  if (!data) throw new Error(JSON.stringify(error));
  console.log(data.id);
}

main();
