// Shows what runs in any process of this memory, as the server tells it by server-sent events.
"use strict";

const section = document.getElementById("running");
const events = new EventSource(section.dataset.events);

events.addEventListener("message", ({ data }) => {
  const running = JSON.parse(data);
  for (const line of section.children) {
    const found = running[line.dataset.kind];
    line.hidden = !found;
    if (!found) continue;
    const bar = line.querySelector("progress");
    bar.max = Math.max(found.total, 1);
    bar.value = found.done;
  }
});
addEventListener("pagehide", () => events.close());
