// @ts-check
// "Add a provider": the lines for .env or the models file, and a try of the key. The key stays in the dialog.

import { get, send } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { button, clearErrors, copy, dialog, field, formError, note } from "../../lib/ui.js";
import { plural } from "../people/lists.js";

const other = "other";

/** The providers that a setting with a key configures. Their names are those of the settings, but for Azure's. */
async function presets() {
  const { data } = await get("/admin/settings"), end = "_API_KEY";
  return data.filter((s) => s.name.endsWith(end) && !s.description.startsWith("Another name"))
    .map((s) => ({ name: s.name.slice(0, -end.length).toLowerCase().replace("azure_openai", "azure"), setting: s.name, configured: s.set }));
}

export async function addProvider() {
  const known = await presets(), place = h("div"), lines = h("div"), fields = h("div", { class: "cols" });
  const choices = [...known.map((p) => /** @type {[string, string]} */ ([p.name, p.name])), /** @type {[string, string]} */ ([other, "Another server with OpenAI’s API"])];
  const go = h("button", { class: "btn first", type: "submit" }, "Try the key");
  const made = dialog({
    title: "Add a provider",
    body: [
      field({ label: "Provider", name: "preset", type: "select", value: known.find((p) => !p.configured)?.name ?? known[0]?.name ?? other, options: choices, onchange: () => choose() }),
      fields,
      field({ label: "Key", name: "key", type: "password", spellcheck: false, hint: "It is tried once at the provider’s own address, and neither kept nor logged.", oninput: () => draw() }),
      lines, place,
    ],
    actions: [button("Close", () => made.close()), go],
    onsubmit: async () => {
      if (go.hidden) return;
      fill(place);
      go.disabled = true;
      try {
        const tried = await send("POST", "/admin/providers/try", { preset: value("preset"), key: value("key") });
        fill(place, tried.works ? note("good", `${tried.preset} lists ${plural(tried.models, "model")} for this key. Put the line in place and start the gateway again.`) : note("bad", tried.error));
      } catch (error) {
        fill(place, formError(made.el, error));
      }
      go.disabled = false;
    },
  });
  const value = (name) => /** @type {HTMLInputElement | null} */ (made.el.querySelector(`[name="${name}"]`))?.value.trim() ?? "";

  function choose() {
    go.hidden = value("preset") === other;
    clearErrors(made.el); // of the provider before
    fill(place);
    fill(fields, go.hidden ? [
      field({ label: "Name", name: "name", value: "my-server", oninput: () => draw() }),
      field({ label: "Address", name: "base_url", placeholder: "https://models.example.com/v1", oninput: () => draw() }),
    ] : null);
    fields.hidden = !go.hidden;
    draw();
  }

  /** The lines show a hole for the key; the copied ones have it. */
  function draw() {
    const of = known.find((p) => p.name === value("preset")), name = value("name") || "my-server";
    const setting = of?.setting ?? name.toUpperCase().replace(/[^A-Z0-9]+/g, "_") + "_KEY", hole = "YOUR_KEY";
    const model = of ? "" : `providers:\n  - name: ${name}\n    type: openai\n    base_url: ${value("base_url") || "https://models.example.com/v1"}\n    keys: {env: ${setting}}\n    discovery: true\n`;
    const env = (key) => `${setting}=${key}\n`;
    fill(lines, of ? null : [h("p", { class: "soft xs" }, "In the file of ", h("code", null, "MODELS_FILE")), box(() => model, model, "Lines of the models file")],
      h("p", { class: "soft xs" }, "In ", h("code", null, ".env"), of?.configured ? ", after the keys that are there and a comma" : ""), box(() => env(value("key") || hole), env(value("key") ? "••••" : hole), "Lines of .env"));
  }
  choose();
}

const box = (text, shown, label) => h("div", { class: "code" }, copy(text, { class: "copy" }), h("pre", { tabindex: "0", role: "group", "aria-label": label }, shown));
