"use strict";
(() => {
  document.documentElement.classList.add("js");

  // The report's JSON, compressed inside the page; read once, when somebody first needs it.
  let pending = null;
  const load = () => {
    pending ??= (async () => {
      const packed = Uint8Array.from(atob(document.getElementById("data").textContent.trim()), (c) => c.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      return new Response(stream).text();
    })();
    return pending;
  };

  const element = (tag, text, parent) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };

  const ms = (value) => (value === null || value === undefined ? "absent" : `${value.toPrecision(4)} ms`);

  const drawSamples = (parent, rows) => {
    const all = rows.flatMap((row) => row.samples_ms);
    if (!all.length) return;
    const low = Math.min(...all), span = Math.max(...all) - low || 1;
    const ns = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(ns, "svg");
    svg.setAttribute("viewBox", `0 0 320 ${rows.length * 14 + 4}`);
    svg.setAttribute("width", "320");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", "samples of each variant on one scale");
    rows.forEach((row, index) => row.samples_ms.forEach((sample) => {
      const dot = document.createElementNS(ns, "circle");
      dot.setAttribute("cx", (4 + 312 * (sample - low) / span).toFixed(1));
      dot.setAttribute("cy", String(index * 14 + 9));
      dot.setAttribute("r", "2.5");
      dot.setAttribute("fill", "currentColor");
      dot.setAttribute("fill-opacity", "0.4");
      svg.append(dot);
    }));
    parent.append(svg);
    element("div", `${ms(low)} to ${ms(low + span)}, top row first`, parent).className = "soft";
  };

  // The operators before and after this one, in the same call of a delegate or among the portable ones.
  const findNeighbours = (rows, identity) => {
    const [, place, position] = /^(.*?)(\d+)$/.exec(identity);
    const at = (offset) => rows.find((row) => row.identity === `${place}${Number(position) + offset}`);
    return [at(-1), at(1)];
  };

  const fillDetail = (cell, found, steps) => {
    const list = element("dl", undefined, cell);
    const fact = (name, value) => { element("dt", name, list); element("dd", value, list); };
    for (const { variant, row } of found) {
      fact(variant, `mean ${ms(row.mean_ms)}, median ${ms(row.median_ms)}, ${row.count} inferences, ` +
        `${(100 * row.share).toFixed(2)} % of the time`);
    }
    const row = found[found.length - 1].row;
    fact("Class", `${row.category}: ${row.subcategory}`);
    fact("Identity", row.identity);
    fact("Module", row.module_path || "unknown");
    fact("Layer kind", row.kind);
    if (row.work) {
      const shape = (sizes) => sizes.join("x");
      fact("Shapes", [row.work.input_shape, row.work.weight_shape].filter((s) => s.length).map(shape).join(" * ") +
        ` -> ${shape(row.work.output_shape)}`);
      if (row.work.macs) fact("Multiply-accumulates", row.work.macs.toLocaleString("en"));
      for (const { variant, row: own } of found) {
        if (own.gmac_per_s !== null) fact(`Rate, ${variant}`, `${own.gmac_per_s.toPrecision(3)} GMAC/s`);
      }
    }
    for (const { variant, row: own } of found) {
      const kernels = own.kernels.map((k) => `${k.name} (${k.instruction_class}, ${k.samples} samples)`).join("; ");
      fact(`Kernels, ${variant}`, kernels || "not measured");
    }
    const last = found[found.length - 1];
    const [before, after] = findNeighbours(last.rows, row.identity);
    const tell = (other) => (other ? `${other.name} [${other.identity}], ${ms(other.mean_ms)}` : "none");
    fact("Runs after", tell(before));
    fact("Runs before", tell(after));
    const own = steps.filter((step) => step.operators.includes(row.identity) &&
      step.variant.experiment === last.variant && step.variant.threads === last.threads);
    for (const step of own) fact(`Rule ${step.rule}`, `${step.title}. ${step.reason} ${step.advice}`);
    if (!own.length) fact("Rule", "none speaks about this operator");
    fact("Samples", "");
    drawSamples(list.lastElementChild, found.map((f) => f.row));
  };

  const unfold = async (button) => {
    const line = button.closest("tr");
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) { line.nextElementSibling.remove(); return; }
    const detail = document.createElement("tr");
    detail.className = "detail";
    const cell = element("td", undefined, detail);
    cell.colSpan = line.children.length;
    line.after(detail);
    let report;
    try {
      report = JSON.parse(await load());
    } catch (error) {
      cell.textContent = "This browser cannot unpack the data of this page; see analysis_summary.json.";
      return;
    }
    const found = JSON.parse(line.dataset.rows).flatMap(([variant, identity]) =>
      report.variants[variant].operators.filter((row) => row.identity === identity)
        .map((row) => ({
          variant: report.variants[variant].experiment, threads: report.variants[variant].threads,
          rows: report.variants[variant].operators, row,
        })));
    fillDetail(cell, found, report.next_steps);
  };

  const foldAll = (table) =>
    table.querySelectorAll('button.unfold[aria-expanded="true"]').forEach((button) => unfold(button));

  const sortBy = (table, heading) => {
    foldAll(table);
    const column = [...heading.parentNode.children].indexOf(heading);
    const down = heading.getAttribute("aria-sort") !== "descending";
    table.querySelectorAll("thead th").forEach((th) => th.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (line) => {
      const cell = line.children[column];
      return cell.dataset.v === undefined ? cell.textContent.trim().toLowerCase() : Number(cell.dataset.v);
    };
    const lines = [...table.tBodies[0].rows].map((line) => [key(line), line]);
    lines.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
    table.tBodies[0].append(...lines.map(([, line]) => line));
  };

  const filter = (table, tools) => {
    foldAll(table);
    const wanted = tools.querySelector("input").value.trim().toLowerCase();
    const picks = [...tools.querySelectorAll("select")].filter((select) => select.value);
    let shown = 0;
    for (const line of table.tBodies[0].rows) {
      const fits = picks.every((select) => line.dataset[select.name].split("|").includes(select.value)) &&
        (!wanted || line.textContent.toLowerCase().includes(wanted));
      line.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    tools.querySelector("output").textContent = `${shown} of ${table.tBodies[0].rows.length} operators`;
  };

  document.querySelectorAll("table.operators").forEach((table) => {
    const tools = document.getElementById(table.dataset.tools);
    table.querySelectorAll("thead button").forEach((button) =>
      button.addEventListener("click", () => sortBy(table, button.parentNode)));
    table.addEventListener("click", (event) => {
      const button = event.target.closest("button.unfold");
      if (button) unfold(button);
    });
    tools.querySelectorAll("input, select").forEach((control) =>
      control.addEventListener("input", () => filter(table, tools)));
  });

  // Shows one module over the whole width: what is in it below, what it is in above.
  const zoom = (tree, box) => {
    const start = Number(box.dataset.x), width = Number(box.dataset.w);
    for (const other of tree.querySelectorAll("button")) {
      const left = (Number(other.dataset.x) - start) / width, wide = Number(other.dataset.w) / width;
      const isAround = left <= 1e-6 && left + wide >= 1 - 1e-6 && Number(other.dataset.d) < Number(box.dataset.d);
      other.hidden = !isAround && (left < -1e-6 || left >= 1 - 1e-6 || left + wide > 1 + 1e-4);
      other.style.left = `${isAround ? 0 : 100 * left}%`;
      other.style.width = `${isAround ? 100 : 100 * wide}%`;
    }
  };

  document.querySelectorAll(".icicle").forEach((tree) => {
    tree.addEventListener("click", (event) => {
      const box = event.target.closest("button");
      if (box) zoom(tree, box);
    });
    const choice = tree.previousElementSibling?.querySelector("select[name=colour]");
    choice?.addEventListener("input", () => tree.classList.toggle("speedup", choice.value === "speedup"));
  });

  document.getElementById("download").addEventListener("click", async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await load()], { type: "application/json" }));
    link.download = "analysis_summary.json";
    link.click();
    URL.revokeObjectURL(link.href);
  });
})();
