"use strict";
const find = (id) => document.getElementById(id);

// Holds the link's token. It leaves the address bar at once, so that neither history nor a screenshot keeps it.
let token = null;

function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    token = given;
    history.replaceState(null, "", location.pathname);
  }
  find("form").hidden = !token;
  if (token) say("", "");
  else say("wrong", "This page needs the link from your mail: open that link again.");
}

function say(kind, text) {
  find("message").className = kind;
  find("message").textContent = text;
}

function succeed(text) {
  token = null;
  find("form").hidden = true;
  find("next").hidden = false;
  say("good", text);
  find("message").focus();
}

function reason(problem) {
  const fields = (problem.invalid_params || []).map(({ name, reason }) => `The ${name.replaceAll("_", " ")} ${reason}.`);
  return fields.join(" ") || problem.detail || problem.title;
}

// Spends the token. Answers with the problem that kept it from working, or with null.
async function spend(path, body, onSuccess) {
  const button = find("send");
  if (button.getAttribute("aria-disabled") === "true") return null;
  button.setAttribute("aria-disabled", "true");
  say("", "One moment …");
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, ...body }),
      credentials: "omit",
      cache: "no-store",
    });
    const answer = await response.json().catch(() => ({}));
    if (response.ok) {
      onSuccess(answer);
      return null;
    }
    say("wrong", reason(answer) || `The service answered ${response.status}.`);
    if (response.status === 401) {
      // The link is dead, and no other try can change that.
      find("form").hidden = true;
      find("message").focus();
    }
    return answer;
  } catch {
    say("wrong", "The service cannot be reached. Try again in a moment.");
    return {};
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

addEventListener("hashchange", takeToken);
takeToken();
