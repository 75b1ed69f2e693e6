// SPDX-License-Identifier: MIT
// The page of a flame graph: reads the tree in the element "profile" and draws it. Names only ever go into textContent and
// fillText.
(function () {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("profile").textContent);
  const ROW = 19;
  const diff = data.mode === "diff";
  const side = data.layout === "side";
  const frames = data.frames;
  const names = frames.name.map((id) => data.strings[id]);
  const state = {
    inverted: data.inverted, down: data.down, colors: data.colors, type: data.shown, zoom: 0, selected: 0, hover: -1,
    query: "", matched: null, dark: window.matchMedia("(prefers-color-scheme: dark)").matches,
  };

  // ---- trees: nodes before those below them, with the end of each one's run ----

  function finish(depth, frame, kind, self) {
    const n = depth.length;
    const tree = { n, depth, frame, kind, self, parent: new Int32Array(n), end: new Int32Array(n), total: [], shapes: new Map() };
    const path = [];
    for (let i = 0; i < n; i++) {
      tree.parent[i] = depth[i] > 0 ? path[depth[i] - 1] : -1;
      path[depth[i]] = i;
      tree.end[i] = i + 1;
    }
    for (let i = n - 1; i > 0; i--) {
      const p = tree.parent[i];
      if (tree.end[i] > tree.end[p]) tree.end[p] = tree.end[i];
    }
    self.forEach((values) => {
      const total = values.slice();
      for (let i = n - 1; i > 0; i--) total[tree.parent[i]] += total[i];
      tree.total.push(total);
    });
    tree.deepest = depth.reduce((a, b) => (b > a ? b : a), 0);
    return tree;
  }

  function column(values, wide) {
    return wide ? BigInt64Array.from(values, BigInt) : Float64Array.from(values);
  }

  const roots = finish(Int32Array.from(data.nodes.depth), Int32Array.from(data.nodes.frame), Uint8Array.from(data.nodes.kind),
    data.self.map((values, i) => column(values, data.types[i].wide)));
  let leaves = null;

  // The same samples with their leaves as roots. Frame ids are in the order of names.
  function invert() {
    const parent = [-1], frame = [0], kind = [0], self = roots.self.map(() => [0]);
    const below = new Map();
    const zero = roots.self.map((values, i) => (data.types[i].wide ? 0n : 0));
    zero.forEach((z, t) => { self[t][0] = z; });
    for (let i = 0; i < roots.n; i++) {
      if (roots.self.every((values) => !values[i])) continue;
      let at = 0;
      for (let j = i; j > 0; j = roots.parent[j]) {
        const key = at * names.length + roots.frame[j];
        let next = below.get(key);
        if (next === undefined) {
          next = parent.length;
          below.set(key, next);
          parent.push(at);
          frame.push(roots.frame[j]);
          kind.push(roots.kind[j]);
          zero.forEach((z, t) => self[t].push(z));
        }
        at = next;
      }
      self.forEach((values, t) => { values[at] += roots.self[t][i]; });
    }
    const children = parent.map(() => null);
    for (let i = 1; i < parent.length; i++) (children[parent[i]] = children[parent[i]] || []).push(i);
    const order = [], depth = [], todo = [[0, 0]];
    while (todo.length > 0) {
      const [node, d] = todo.pop();
      order.push(node);
      depth.push(d);
      if (children[node]) children[node].sort((a, b) => frame[b] - frame[a]).forEach((c) => todo.push([c, d + 1]));
    }
    return finish(Int32Array.from(depth), Int32Array.from(order, (i) => frame[i]), Uint8Array.from(order, (i) => kind[i]),
      self.map((values, t) => column(order.map((i) => values[i]), data.types[t].wide)));
  }

  function tree() {
    if (!state.inverted) return roots;
    return leaves || (leaves = invert());
  }

  // ---- shapes: how wide a node is, and where ----

  const panels = () => (side ? [0, 1] : [diff ? -1 : state.type]);

  // Widths add up at every node, for negative values and for both sides of a comparison as well.
  function shape(t, which) {
    let found = t.shapes.get(which);
    if (found) return found;
    const width = new Float64Array(t.n), at = new Float64Array(t.n), used = new Float64Array(t.n);
    for (let i = t.n - 1; i >= 0; i--) {
      const own = which < 0 ? Math.max(Math.abs(Number(t.self[0][i])), Math.abs(Number(t.self[1][i])))
        : Math.abs(Number(t.self[which][i]));
      width[i] += own;
      if (i > 0) width[t.parent[i]] += width[i];
    }
    for (let i = 1; i < t.n; i++) {
      const p = t.parent[i];
      at[i] = at[p] + used[p];
      used[p] += width[i];
    }
    found = { width, at };
    t.shapes.set(which, found);
    return found;
  }

  // ---- colours ----

  const KINDS = ["#b9bec6", "#f2a65a", "#ecd060", "#86b6e8", "#93cf78", "#7fd0c6", "#cfd3d9"];
  const PALETTE = ["#f2a65a", "#86b6e8", "#93cf78", "#ecd060", "#7fd0c6", "#d9a0dc", "#f08f86", "#b5a6ec", "#c9c46b", "#6fc3e0",
    "#e6b48a", "#a8d5a2", "#f0a6c1", "#9fb8c9", "#d8c1a0", "#b0e08a"];
  const GREY = "#c9cdd3", MATCH = "#e83fd0";

  function hash(text) {
    let h = 2166136261;
    for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
    h ^= h >>> 15;
    return h >>> 0;
  }
  function rgb(hex) { return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)); }
  function mix(a, b, share) {
    const x = rgb(a), y = rgb(b);
    return "#" + x.map((v, i) => Math.round(v + (y[i] - v) * share).toString(16).padStart(2, "0")).join("");
  }
  const shades = names.map((name) => (hash(name) % 97) / 97 * 0.22);
  const groups = { package: frames.package, module: frames.module };

  function change(t, i, own) { return (own ? t.self : t.total)[1][i] - (own ? t.self : t.total)[0][i]; }
  let largest = null;
  function most(own) {
    if (!largest) {
      largest = [0, 0];
      for (let i = 1; i < roots.n; i++) {
        for (let k = 0; k < 2; k++) largest[k] = Math.max(largest[k], Math.abs(Number(change(roots, i, k === 1))));
      }
    }
    return largest[own ? 1 : 0] || 1;
  }
  const CLASSES = ["undetermined", "unchanged", "up", "down", "new", "gone"];
  function called(t, i, own) { // what the comparison calls the function, where it tells
    return diff && data.classes ? CLASSES[(own ? data.classes.self : data.classes.total)[t.frame[i]]] : undefined;
  }
  // 0 the same, 1 changed, 2 undetermined. Seen from the leaves there is no test but that of functions: else every difference counts.
  function verdict(t, i, own) {
    if (t !== roots) {
      const d = change(t, i, own), word = called(t, i, true);
      if (!d || word === "unchanged") return 0;
      return !word || (d > 0 ? word === "up" || word === "new" : word === "down" || word === "gone") ? 1 : 2;
    }
    return (own ? data.change.self : data.change.total)[i];
  }
  function groupColor(text) { return text ? PALETTE[hash(text) % PALETTE.length] : GREY; }

  let mixed = new Map(); // by kind and frame, until colours mean something else
  function color(t, i) {
    const f = t.frame[i];
    if (state.matched && state.matched[f]) return MATCH;
    if (state.colors === "change" || state.colors === "change-self") {
      const own = state.colors === "change-self";
      const d = Number(change(t, i, own));
      if (verdict(t, i, own) !== 1 || !d) return GREY;
      return mix("#e9e4e4", d > 0 ? "#e5483d" : "#3f7fdc", 0.25 + 0.75 * Math.min(1, Math.abs(d) / most(own)));
    }
    if (t.kind[i] === 0 || t.kind[i] === 6) return KINDS[t.kind[i]];
    const key = f * 8 + t.kind[i];
    let found = mixed.get(key);
    if (!found) {
      const base = state.colors === "kind" ? KINDS[t.kind[i]] : groupColor(data.strings[groups[state.colors][f]]);
      found = mix(base, "#ffffff", shades[f]);
      mixed.set(key, found);
    }
    return found;
  }

  // ---- numbers ----

  function exact(v) { return v.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ","); }
  const TIMES = { nanoseconds: 1e-9, microseconds: 1e-6, milliseconds: 1e-3, seconds: 1 };
  function brief(v, unit) {
    const x = Number(v), size = Math.abs(x);
    const step = (list, of) => {
      const row = list.find((r) => of >= r[0]) || list[list.length - 1];
      return (x < 0 ? "-" : "") + (of / row[0]).toPrecision(3).replace(/\.?0+$/, (z) => (z[0] === "." ? "" : z)) + " " + row[1];
    };
    if (unit in TIMES && size > 0)
      return step([[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]], size * TIMES[unit]);
    if (unit === "bytes" && size >= 1024)
      return step([[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"]], size);
    return "";
  }
  function value(v, unit) {
    const short = brief(v, unit);
    return exact(v) + (unit ? " " + unit : "") + (short ? " (" + short + ")" : "");
  }
  function percent(part, whole) {
    const w = Number(whole);
    return w ? (100 * Number(part) / w).toFixed(2) + " %" : "n/a";
  }
  function signed(v) { return (v > 0 ? "+" : "") + exact(v); }

  // ---- words about a node ----

  const typeName = (k) => data.types[k].name + (data.types[k].event && data.types[k].event !== data.types[k].name ? " [" + data.types[k].event + "]" : "");
  function title(t, i) { return i === 0 ? "all" : names[t.frame[i]]; }
  function origin(t, i) {
    if (i === 0) return "";
    const f = t.frame[i], file = data.strings[frames.file[f]], module = data.strings[frames.module[f]];
    const parts = [data.kinds[t.kind[i]]];
    if (module) parts.push(module);
    if (file) parts.push(file + (frames.line[f] ? ":" + frames.line[f] : ""));
    return parts.join(" · ");
  }
  function describe(t, i) {
    const lines = [title(t, i), origin(t, i)].filter((line) => line);
    if (diff) {
      const unit = data.types[0].unit;
      [["total", t.total, false], ["self", t.self, true]].forEach(([word, from, own]) => {
        if (own && t !== roots) return;
        const d = from[1][i] - from[0][i];
        const words = ["unchanged", d > 0 ? (Number(from[0][i]) ? "up" : "new") : (Number(from[1][i]) ? "down" : "gone"), "undetermined"];
        lines.push(word + ": before " + value(from[0][i], unit) + ", after " + value(from[1][i], unit) + ", change " + signed(d) +
          (Number(from[0][i]) ? " (" + percent(d, from[0][i]) + " of its own before), " : ", ") + words[verdict(t, i, own)]);
      });
      const own = called(t, i, true);
      if (own) lines.push("the function as a whole: self " + own + ", with callees " + called(t, i, false));
      return lines;
    }
    const k = state.type, unit = data.types[k].unit, all = t.total[k][0];
    lines.push(typeName(k) + ": " + value(t.total[k][i], unit) + ", " + percent(t.total[k][i], all) + " of all" +
      (state.zoom ? ", " + percent(t.total[k][i], t.total[k][state.zoom]) + " of the zoomed" : ""));
    if (t === roots) lines.push("self: " + value(t.self[k][i], unit) + ", " + percent(t.self[k][i], all));
    data.types.forEach((type, other) => {
      if (other !== k) lines.push(typeName(other) + ": " + value(t.total[other][i], type.unit));
    });
    return lines;
  }

  // ---- drawing ----

  const canvas = $("canvas"), stage = $("stage"), pen = canvas.getContext("2d");
  let view = { width: 0, height: 0, full: 0, scale: 1, panel: 0 };
  const GAP = 12;
  let tall = 0;

  function measure() {
    const t = tree();
    const width = Math.max(50, stage.clientWidth), height = Math.max(ROW, stage.clientHeight);
    let deepest = t.depth[state.zoom];
    for (let i = state.zoom; i < t.end[state.zoom]; i++) if (t.depth[i] > deepest) deepest = t.depth[i];
    tall = Math.max(height, (deepest + 1) * ROW + 2);
    $("space").style.height = tall + "px";
    const count = panels().length;
    const panel = (width - GAP * (count - 1)) / count;
    const widest = Math.max(...panels().map((which) => shape(t, which).width[state.zoom]));
    view = { width, height, panel, scale: widest > 0 ? panel / widest : 0 };
    const ratio = window.devicePixelRatio || 1;
    canvas.style.height = height + "px";
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  function top(depth) { return (state.down ? depth * ROW : tall - (depth + 1) * ROW) - stage.scrollTop; }

  function box(t, i, x, w, y) {
    pen.fillStyle = color(t, i);
    const dimmed = t.depth[i] < t.depth[state.zoom];
    pen.globalAlpha = dimmed ? 0.55 : 1;
    pen.fillRect(x, y, Math.max(0.6, w - (w > 3 ? 1 : 0)), ROW - 1);
    pen.globalAlpha = 1;
    if (w > 30) label(title(t, i), x + 4, y + ROW / 2, w - 8, dimmed && state.dark ? "#ffffff" : "#15181c");
  }
  const FONT = '12px system-ui, "DejaVu Sans", sans-serif';
  function label(text, x, y, room, ink) {
    pen.fillStyle = ink;
    let shown = text.length > 400 ? text.slice(0, 400) : text;
    if (pen.measureText(shown).width > room) {
      shown = shown.slice(shown.search(/[ (<[]|$/) < 1 ? 0 : shown.lastIndexOf("/", shown.search(/[ (<[]|$/)) + 1); // the path says least
    }
    if (pen.measureText(shown).width > room) {
      let low = 0, high = shown.length;
      while (low < high) {
        const mid = (low + high + 1) >> 1;
        if (pen.measureText(shown.slice(0, mid) + "…").width <= room) low = mid; else high = mid - 1;
      }
      if (low < 2) return;
      shown = shown.slice(0, low) + "…";
    }
    pen.fillText(shown, x, y);
  }
  function outline(t, i, s, x0, stroke) {
    const r = rect(t, i, s, x0);
    if (!r) return;
    pen.strokeStyle = stroke;
    pen.lineWidth = 2;
    pen.strokeRect(r.x + 1, top(t.depth[i]) + 1, Math.max(1, r.w - 3), ROW - 3);
  }
  // Where a node is in a panel; nothing for what the zoom hides.
  function rect(t, i, s, x0) {
    if (i <= state.zoom && state.zoom < t.end[i]) return { x: x0, w: s.width[state.zoom] * view.scale };
    if (i < state.zoom || i >= t.end[state.zoom]) return null;
    return { x: x0 + (s.at[i] - s.at[state.zoom]) * view.scale, w: s.width[i] * view.scale };
  }

  function paint(t, which, x0) {
    const s = shape(t, which), z = state.zoom, drawn = [];
    for (let i = t.parent[z]; i >= 0; i = t.parent[i]) box(t, i, x0, s.width[z] * view.scale, top(t.depth[i]));
    for (let i = z; i < t.end[z];) {
      const w = s.width[i] * view.scale, x = x0 + (s.at[i] - s.at[z]) * view.scale, y = top(t.depth[i]);
      const off = state.down ? y > view.height : y < -ROW;
      if (w === 0 || off) {
        i = t.end[i];
        continue;
      }
      if (w < 0.5) { // what is below a pixel shares it: drawn once a pixel and level, with all that hangs below
        const pixel = Math.floor(x);
        if (drawn[t.depth[i]] !== pixel) {
          drawn[t.depth[i]] = pixel;
          pen.fillStyle = state.matched && state.matched[t.frame[i]] ? MATCH : GREY;
          pen.fillRect(pixel, y, 1, ROW - 1);
        }
        i = t.end[i];
        continue;
      }
      if (y > -ROW && y < view.height) box(t, i, x, w, y);
      i++;
    }
    const focus = getComputedStyle(document.documentElement).getPropertyValue("--focus");
    if (state.selected) outline(t, state.selected, s, x0, focus);
    if (state.hover > 0) outline(t, state.hover, s, x0, "#15181c");
  }

  let waiting = false;
  function draw() {
    if (waiting) return;
    waiting = true;
    window.requestAnimationFrame(() => {
      waiting = false;
      pen.clearRect(0, 0, view.width, view.height);
      pen.font = FONT;
      pen.textBaseline = "middle";
      panels().forEach((which, k) => paint(tree(), which, k * (view.panel + GAP)));
    });
  }

  function refresh(rewind) {
    measure();
    if (rewind) stage.scrollTop = state.down ? 0 : tall;
    $("details").textContent = describe(tree(), state.selected || state.zoom).join("\n");
    document.body.dataset.zoom = title(tree(), state.zoom);
    document.body.dataset.selected = title(tree(), state.selected);
    $("reset").disabled = state.zoom === 0;
    share();
    draw();
  }

  // ---- what is under the pointer ----

  function hit(x, y) {
    const t = tree(), list = panels();
    const k = Math.min(list.length - 1, Math.floor(x / (view.panel + GAP)));
    const s = shape(t, list[k]), inside = x - k * (view.panel + GAP);
    const level = Math.floor((state.down ? y + stage.scrollTop : tall - (y + stage.scrollTop)) / ROW);
    if (inside < 0 || inside > s.width[state.zoom] * view.scale || level < 0) return -1;
    let i = state.zoom;
    if (level <= t.depth[i]) {
      while (t.depth[i] > level) i = t.parent[i];
      return i;
    }
    const at = s.at[state.zoom] + inside / view.scale;
    while (t.depth[i] < level) {
      let c = i + 1;
      const end = t.end[i];
      while (c < end && at >= s.at[c] + s.width[c]) c = t.end[c];
      if (c >= end || at < s.at[c]) return -1;
      i = c;
    }
    return i;
  }
  function place(event) {
    const r = canvas.getBoundingClientRect();
    return hit(event.clientX - r.left, event.clientY - r.top);
  }

  const tip = $("tip");
  canvas.addEventListener("mousemove", (event) => {
    const i = place(event);
    if (i !== state.hover) {
      state.hover = i;
      draw();
    }
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.textContent = describe(tree(), i).join("\n");
    const r = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - r.width - 6)) + "px";
    tip.style.top = Math.max(4, event.clientY + 18 + r.height > window.innerHeight ? event.clientY - r.height - 10 : event.clientY + 18) + "px";
  });
  canvas.addEventListener("mouseleave", () => {
    state.hover = -1;
    tip.hidden = true;
    draw();
  });
  canvas.addEventListener("click", (event) => {
    const i = place(event);
    if (i >= 0) zoom(i);
  });
  stage.addEventListener("scroll", () => {
    tip.hidden = true;
    draw();
  });

  function zoom(i) {
    state.zoom = i;
    state.selected = i;
    state.hover = -1;
    tip.hidden = true;
    refresh(true);
  }

  // ---- search ----

  function search(query) {
    state.query = query;
    state.matched = null;
    $("search").setCustomValidity("");
    if (query) {
      let test;
      const pattern = /^\/(.+?)\/?$/.exec(query);
      if (pattern) {
        try {
          const re = new RegExp(pattern[1], "i");
          test = (name) => re.test(name);
        } catch (e) {
          $("search").setCustomValidity("not a regular expression");
          test = () => false;
        }
      } else {
        const low = query.toLowerCase();
        test = (name) => name.toLowerCase().includes(low);
      }
      state.matched = Uint8Array.from(names, (name, f) => (f > 0 && test(name) ? 1 : 0));
    }
    share();
    draw();
  }
  // A sample with several matching frames counts once.
  function share() {
    const out = $("match");
    if (!state.matched) {
      out.textContent = "";
      return;
    }
    const t = tree(), z = state.zoom;
    let inside = false, count = 0;
    for (let i = z; i > 0; i = t.parent[i]) inside = inside || state.matched[t.frame[i]] === 1;
    const sums = t.total.map((total) => (inside ? total[z] : total[z] - total[z]));
    for (let i = z; i < t.end[z];) {
      if (!inside && i > 0 && state.matched[t.frame[i]]) {
        sums.forEach((sum, k) => { sums[k] = sum + t.total[k][i]; });
        count++;
        i = t.end[i];
      } else {
        i++;
      }
    }
    const words = (diff || side ? [0, 1] : [state.type]).map((k) => (diff || side ? data.types[k].name + " " : "") + percent(sums[k], t.total[k][z]) +
      " (" + exact(sums[k]) + " " + data.types[k].unit + ")");
    out.textContent = "Matched: " + words.join(", ") + (z ? " of the zoomed" : "");
    out.dataset.places = count;
  }

  // ---- controls ----

  function legend() {
    const list = [];
    if (state.colors === "kind") {
      const seen = new Set(roots.kind);
      data.kinds.forEach((name, k) => { if (k > 0 && seen.has(k)) list.push([KINDS[k], name]); });
      if (roots.n > 1 && roots.kind.indexOf(0, 1) > 0) list.unshift([KINDS[0], "thread"]);
    } else if (state.colors === "change" || state.colors === "change-self") {
      list.push(["#e5483d", "more"], ["#3f7fdc", "less"], [GREY, "unchanged or undetermined"]);
    } else {
      const weights = new Map();
      const k = Math.max(0, diff ? 1 : state.type);
      for (let i = 1; i < roots.n; i++) {
        const text = data.strings[groups[state.colors][roots.frame[i]]];
        const own = Math.abs(Number(roots.self[k][i]));
        if (text && own) weights.set(text, (weights.get(text) || 0) + own);
      }
      [...weights].sort((a, b) => b[1] - a[1]).slice(0, 10).forEach(([text, w]) =>
        list.push([groupColor(text), (text.length > 50 ? text.slice(0, 50) + "…" : text) + " " + percent(w, Math.abs(Number(roots.total[k][0])))]));
    }
    $("legend").replaceChildren(...list.map(([fill, text]) => {
      const item = document.createElement("span"), chip = document.createElement("i");
      chip.style.background = fill;
      item.append(chip, text);
      return item;
    }));
  }
  function theme() { document.documentElement.dataset.theme = state.dark ? "dark" : "light"; }
  function press(id, on) { $(id).setAttribute("aria-pressed", on ? "true" : "false"); }
  function flip(inverted) {
    state.inverted = inverted;
    press("invert", inverted);
    zoom(0);
  }
  function turn(down) {
    state.down = down;
    press("turn", !down);
    refresh(true);
  }
  function recolor(colors) {
    state.colors = colors;
    mixed = new Map();
    $("colors").value = colors;
    legend();
    draw();
  }
  function retype(type) {
    state.type = type;
    $("event").value = String(type);
    legend();
    refresh(false);
  }
  function option(select, text, v) {
    const o = document.createElement("option");
    o.textContent = text;
    o.value = v;
    select.append(o);
  }
  if (diff) {
    option($("colors"), "change, with callees", "change");
    option($("colors"), "change, self", "change-self");
  }
  [["kind of code", "kind"], ["package", "package"], ["module", "module"]].forEach(([text, v]) => option($("colors"), text, v));
  data.types.forEach((type, k) => option($("event"), typeName(k) + (type.unit && type.unit !== "count" ? " (" + type.unit + ")" : ""), String(k)));
  $("event").parentNode.hidden = diff || side || data.types.length < 2;
  document.body.dataset.layout = data.layout;
  if (side) ["left", "right"].forEach((id, k) => { $(id).textContent = data.types[k].name + ": " + value(roots.total[k][0], data.types[k].unit); });

  $("search").addEventListener("input", (event) => search(event.target.value.trim()));
  $("reset").addEventListener("click", () => zoom(0));
  $("invert").addEventListener("click", () => flip(!state.inverted));
  $("turn").addEventListener("click", () => turn(!state.down));
  $("colors").addEventListener("change", (event) => recolor(event.target.value));
  $("event").addEventListener("change", (event) => retype(Number(event.target.value)));
  $("theme").addEventListener("click", () => { state.dark = !state.dark; theme(); draw(); });
  $("help").addEventListener("click", () => $("keys").showModal());
  window.addEventListener("resize", () => refresh(false));

  // ---- keys ----

  function select(i) {
    if (i < 0) return;
    const t = tree();
    state.selected = i;
    if (!(i >= state.zoom && i < t.end[state.zoom]) && !(i <= state.zoom && state.zoom < t.end[i])) state.zoom = i;
    refresh(false);
    const y = top(t.depth[i]);
    if (y < 0) stage.scrollTop += y;
    else if (y + ROW > view.height) stage.scrollTop += y + ROW - view.height;
  }
  function widestChild(t, i) {
    const s = shape(t, panels()[0]);
    let best = -1;
    for (let c = i + 1; c < t.end[i]; c = t.end[c]) if (best < 0 || s.width[c] > s.width[best]) best = c;
    return best;
  }
  function sibling(t, i, step) {
    if (i <= 0) return -1;
    const list = [];
    for (let c = t.parent[i] + 1; c < t.end[t.parent[i]]; c = t.end[c]) list.push(c);
    return list[list.indexOf(i) + step] ?? -1;
  }
  document.addEventListener("keydown", (event) => {
    const t = tree(), i = state.selected;
    if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
    if (event.target === $("search")) {
      if (event.key === "Escape") {
        $("search").value = "";
        search("");
        canvas.focus();
      } else if (event.key === "Enter") {
        canvas.focus();
      }
      return;
    }
    if (event.target instanceof HTMLSelectElement || (event.target instanceof HTMLButtonElement && (event.key === "Enter" || event.key === " "))) return;
    const actions = {
      "/": () => $("search").focus(),
      ArrowDown: () => select(state.down ? widestChild(t, i) : t.parent[i]),
      ArrowUp: () => select(state.down ? t.parent[i] : widestChild(t, i)),
      ArrowLeft: () => select(sibling(t, i, -1)),
      ArrowRight: () => select(sibling(t, i, 1)),
      Enter: () => zoom(i),
      Backspace: () => zoom(Math.max(0, t.parent[state.zoom])),
      Home: () => zoom(0),
      Escape: () => zoom(0),
      i: () => flip(!state.inverted),
      u: () => turn(!state.down),
      c: () => {
        const all = [...$("colors").options].map((o) => o.value);
        recolor(all[(all.indexOf(state.colors) + 1) % all.length]);
      },
      e: () => { if (!diff && !side) retype((state.type + 1) % data.types.length); },
      t: () => $("theme").click(),
      "?": () => $("keys").showModal(),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });

  document.body.classList.remove("still");
  theme();
  press("invert", state.inverted);
  press("turn", !state.down);
  $("colors").value = state.colors;
  $("event").value = String(state.type);
  legend();
  refresh(true);
}());
