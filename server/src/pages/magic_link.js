
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
  });
});
