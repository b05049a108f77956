// @ts-check
/** The dialog that shows the request of a lane as a program. */
import { fill, h } from "../../lib/dom.js";
import { code, dialog, segments, tabs } from "../../lib/ui.js";
import { dialects, holes, languages, program, variable } from "./code.js";

/** What was looked at last, for as long as the page is open. */
const chosen = { dialect: "chat", language: "curl" };

/** @param {{ letter: string, request: object, base: string }} of letter: empty where there is one lane only */
export function codebox({ letter, request, base }) {
  const shown = h("div");
  const show = () => {
    const text = program(request, chosen.dialect, chosen.language, base),
      pictures = holes(text);
    fill(
      shown,
      code(text, "Code in " + languages.find((l) => l.id === chosen.language)?.name),
      h(
        "p",
        { class: "soft xs mt" },
        "The key is read from ",
        h("code", {}, variable),
        ". ",
        pictures
          ? `Put the data of ${pictures > 1 ? "the pictures" : "the picture"}, in base64, in the place of PICTURE_1${pictures > 1 ? " and so on" : ""}.`
          : null,
      ),
    );
    return shown;
  };
  const panel = (dialect) => () => {
    chosen.dialect = dialect;
    return show();
  };
  const speak = (language) => {
    chosen.language = language;
    show();
  };
  dialog({
    title: letter ? `Request of ${letter} as code` : "Request as code",
    class: "wide",
    body: h(
      "div",
      { class: "as-code" },
      segments({ label: "Language", options: languages.map((l) => [l.id, l.name]), value: chosen.language, onchange: speak }),
      tabs({ label: "Dialect", chosen: chosen.dialect, tabs: dialects.map((d) => ({ id: d.id, title: d.name, panel: panel(d.id) })) }),
    ),
  });
}
