// deno-lint-ignore-file no-var -- in plain old JavaScript: it runs where the page itself can't, and says why
(function () {
  var needs = document.currentScript.getAttribute("data-needs");
  var problem = document.getElementById("problem");
  var opened = "This page was opened as a file, and browsers load no modules from files. ";
  var served = "Let a server hand out its folder, for example with “python3 -m http.server”.";
  function say(text) {
    if (!problem.hidden) return;
    problem.textContent = text;
    problem.hidden = false;
    document.getElementById("main").hidden = true;
  }
  if (location.protocol === "file:") {
    say(opened + served + " Then open the address that it prints.");
  } else if (!("noModule" in HTMLScriptElement.prototype)) {
    say("This browser has no JavaScript modules. The page needs " + needs + ".");
  }
  addEventListener("error", function (event) {
    if (document.documentElement.dataset.state) return; // the page runs, and tells of errors itself
    var what = event.message || "a file of it could not be loaded";
    say("The page could not start: " + what + ". It needs " + needs + ".");
  }, true);
})();
