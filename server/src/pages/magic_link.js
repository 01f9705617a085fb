
find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  redeemToken("/v1/auth/magic-link/redeem", {}, (tokens) => {
    const session = {
      access_token: tokens.access_token,
      refresh_token: tokens.refresh_token,
      expires_at: Math.floor(Date.now() / 1000) + tokens.expires_in,
    };
    sessionStorage.setItem("trunkline.session", JSON.stringify(session));
    showSuccess("You are signed in.");
    offerPassword(session.access_token);
  });
});

const call = (path, accessToken, request = {}) =>
  fetch(path, {
    ...request,
    headers: { authorization: `Bearer ${accessToken}`, "content-type": "application/json" },
    credentials: "omit",
    cache: "no-store",
  });

// A user without a password chooses one here, or later with a mailed link.
async function offerPassword(accessToken) {
  const me = await call("/v1/me", accessToken).then((response) => response.json()).catch(() => ({}));
  if (me.user?.has_password !== false) return;
  find("choose").hidden = false;
  find("choose").addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = JSON.stringify({ new_password: find("password").value });
    const response = await call("/v1/me/password", accessToken, { method: "POST", body }).catch(() => null);
    if (!response) return showMessage("error", "The service cannot be reached. Try again in a moment.");
    if (!response.ok) return showMessage("error", problemText(await response.json().catch(() => ({}))));
    find("choose").hidden = true;
    showMessage("success", "Your password is saved.");
  });
}
