
function verifyAddress(body) {
  redeemToken("/v1/auth/verify-email", body, () => {
    find("form").reset();
    showSuccess("Your email address is verified.");
  });
}

find("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const password = find("password").value;
  if (password) return verifyAddress({ password });
  showMessage("error", "Enter your password, or verify without one.");
  find("password").focus();
});
find("without-password").addEventListener("click", () => verifyAddress({}));
