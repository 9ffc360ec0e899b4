// Runs the scripts of a page without a browser. Prints what its tables and its timeline hold, and its answers to
// changes:
//   node page_answers.js PAGE '[{"dispatch": 0.5}, {"syncs": false}]'
const fs = require('fs');

const page = fs.readFileSync(process.argv[2], 'utf8');
const between = (from, to) =>
    page.slice(page.indexOf(from) + from.length, page.indexOf(to, page.indexOf(from)));
const data = JSON.parse(between('<script type="application/json" id="data">', '</script>'));
const script = between('<script>\n', '</script>').replace(/\ntry \{\n  start\(\);[^]*$/, '\n');
const {WhatIf, Trace, readable} = new Function(script + '\nreturn {WhatIf, Trace, readable};')();

const trace = new Trace(data.timeline);
const whatIf = data.what_if === null ? null : new WhatIf(data.what_if);
const spans = Array.from({length: trace.count}, (_, i) => ({
                                                  name: trace.name(i),
                                                  title: trace.title(i),
                                                  begin: trace.begins[i],
                                                  duration: trace.durations[i],
                                                  parent: trace.parents[i],
                                                  launch: trace.launchOf[i],
                                                  ops: trace.opsOf(i).map((op) => trace.name(op)).join(' > '),
                                                  stack: trace.stackOf(i),
                                                }));
const shownTable = (table) =>
    table.rows.map((row) => row.map((value, i) => readable(value, table.columns[i][2])));
console.log(JSON.stringify({
  findings: data.diagnoses[0].findings.map((finding) => finding.tables.map(shownTable)),
  answers: JSON.parse(process.argv[3]).map((change) => whatIf.ask(change)),
  spans,
  gaps: trace.gaps,
  lanes: trace.lanes.map((lane) => lane.name),
}));
