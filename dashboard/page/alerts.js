/** What is wrong with the lab, as the server found it over time. */

import { byId, h, keepInLine, setAttribute, setText } from "./dom.js";
import { clock } from "./format.js";
import { view } from "./state.js";

export function alertsView() {
  const list = byId("alerts");
  return view(
    ({ alerts }) => [alerts],
    (alerts) => {
      list.hidden = alerts.length === 0;
      keepInLine(
        list,
        alerts,
        ({ name, topic, table, part }) => [name, topic, table, part].join(" "),
        () => h("li", {}, h("strong"), h("span")),
        (item, { name, severity, topic, table, part, since, message }) => {
          setAttribute(item, "data-severity", severity);
          const place = part ?? table ?? topic ?? "";
          const [head, text] = [...item.children];
          if (head) setText(head, `${severity}: ${name}`);
          if (text) setText(text, `${place === "" ? "" : `${place}: `}${message}, since ${clock(since)}`);
        },
      );
    },
  );
}
