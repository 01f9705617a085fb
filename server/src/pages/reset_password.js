
const AT_LEAST = 8;

function mark(field, isWrong) {
  find(field).setAttribute("aria-invalid", String(isWrong));
}

function refuse(field, text) {
  mark(field, true);
  say("wrong", text);
  find(field).focus();
}

find("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  mark("password", false);
  mark("again", false);
  const password = find("password").value;
  if ([...password].length < AT_LEAST) return refuse("password", `The password needs at least ${AT_LEAST} characters.`);
  if (find("again").value !== password) return refuse("again", "The two passwords are not the same.");

  const problem = await spend("/v1/auth/reset-password", { new_password: password }, () => {
    find("form").reset();
    succeed("Your password is changed, and every device is signed out.");
  });
  if (problem?.invalid_params?.some((param) => param.name === "new_password")) {
    mark("password", true);
    find("password").focus();
  }
});
