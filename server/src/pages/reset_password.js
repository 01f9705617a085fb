
const MIN_PASSWORD_CHARS = 8;

function setInvalid(field, isInvalid) {
  find(field).setAttribute("aria-invalid", String(isInvalid));
}

function rejectField(field, text) {
  setInvalid(field, true);
  showMessage("error", text);
  find(field).focus();
}

find("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  setInvalid("password", false);
  setInvalid("confirmation", false);
  const password = find("password").value;
  if ([...password].length < MIN_PASSWORD_CHARS) return rejectField("password", `Use at least ${MIN_PASSWORD_CHARS} characters.`);
  if (find("confirmation").value !== password) return rejectField("confirmation", "The passwords do not match.");

  const problem = await redeemToken("/v1/auth/reset-password", { new_password: password }, () => {
    find("form").reset();
    showSuccess("Your password was changed, and all devices were signed out.");
  });
  if (problem?.invalid_params?.some((param) => param.name === "new_password")) {
    setInvalid("password", true);
    find("password").focus();
  }
});
