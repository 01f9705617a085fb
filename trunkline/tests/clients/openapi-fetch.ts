// Creates a trunk with types by openapi-typescript and calls by openapi-fetch.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

async function main() {
  const client = createClient<paths>({
    baseUrl: process.env.API,
    headers: { Authorization: `Bearer ${process.env.TOKEN}` },
  });
  const { data, error } = await client.POST("/trunks", {
    params: { header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { name: "Amsterdam PBX", zone: "eu-west", channel_cap: 30 },
  });
  if (!data) throw new Error(JSON.stringify(error));
  const trunk: components["schemas"]["Trunk"] = data;
  const notifications = await client.GET("/notifications");
  for (const notification of notifications.data?.data ?? []) {
    if (notification.code === "invoice.issued") console.error(notification.payload.number);
  }
  console.log(trunk.id);
}

main();
