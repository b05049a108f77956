// @ts-check
// Alerts: who is told of what, and what was sent.

import { get, send } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { day, full, minute, until } from "../lib/format.js";
import { button, card, empty, failed, loading, status, toast } from "../lib/ui.js";

export const title = "Alerts";
export const admin = true;

const ways = { webhook: "Webhook", mail: "E-mail" };
/** @type {[string, string][]} */
const events = [
  ["A budget is nearly spent", "At 80 % and at 100 % of the budget of a key, a user or a team, once each in a window."],
  ["A provider fails, and answers again", "When the circuits of all its keys are open, or all its keys are refused."],
  ["A model in use ends", "30 days before its last day, if it was called in the last 30 days."],
];

/** @param {any} page */
export async function show(page) {
  const { signal } = page, list = h("section", { class: "card" });
  let rows = [], report = /** @type {any} */ (null);
  const test = button("Send a test", async () => {
    test.disabled = true;
    try {
      const { data } = await send("POST", "/admin/alerts/test"), bad = data.filter((a) => a.state !== "delivered");
      toast(bad.length ? `Not delivered: ${bad.map((a) => `${ways[a.way]}, ${a.error}`).join("; ")}` : "The test is delivered");
      await load();
    } catch (error) {
      toast(/** @type {any} */ (error).message);
    }
    test.disabled = false;
  }, { icon: "mail" });
  page.head({ line: "The gateway tells each event once, by one replica, in each way that is set.", actions: test });
  fill(page.root, loading("table"));

  async function load() {
    try {
      report = await get("/admin/alerts", null, { signal });
      rows = report.data;
      draw();
    } catch (error) {
      if (!signal.aborted) fill(page.root, h("section", { class: "card" }, failed(error, load, "The alerts")));
    }
  }

  async function older() {
    report = await get("/admin/alerts", { after: rows.at(-1).id }, { signal });
    rows.push(...report.data);
    draw();
  }

  function draw() {
    test.hidden = !report.ways.some((w) => w.to);
    fill(list, h("header", null, h("div", null, h("h2", null, "What was sent"))),
      rows.length ? h("ol", { class: "trail wide" }, rows.map(alert)) : empty({ text: "Nothing needed telling yet." }),
      report.has_more ? h("div", { class: "tfoot" }, h("span", null, `The newest ${rows.length}`), button("Load older", older)) : null);
    fill(page.root, h("div", { class: "grid2" }, card({ title: "Who is told" }, h("ul", { class: "rows" }, report.ways.map(way))),
      card({ title: "Of what", pad: true }, h("dl", { class: "facts" }, events.map(([what, when]) => [h("dt", null, what), h("dd", null, when)])))),
    h("div", { class: "mt" }, list));
  }

  await load();
  page.every(30e3, () => rows.length <= 50 && load());
}

function way({ way: name, setting, to }) {
  return h("li", null, h("b", null, ways[name]), h("span", { class: "grow elide", title: to }, to ?? ["Set ", h("code", null, setting)]), to ? status("good", "Told") : status("off", "Not set"));
}

function alert(a) {
  const at = a.at * 1000;
  const [kind, word] = { delivered: ["good", ""], waiting: ["warn", a.attempts ? `, tried again ${until(a.next_try * 1000)}` : ", is sent now"] }[a.state] ?? ["bad", ", given up"];
  return h("li", null, h("time", { title: full(at), datetime: new Date(at).toISOString() }, day(at) === day(Date.now()) ? minute(at) : day(at)),
    h("span", { class: ["st", kind] }, h("span", { class: "wrap" }, a.text, ". ", h("span", { class: "soft" }, ways[a.way], word, a.error ? ": " + a.error : ""))));
}
