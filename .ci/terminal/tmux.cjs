// Plays recordings of one size in tmux: every text of `once` must stand in exactly one line of its history at the end.
// Usage: tmux.cjs FOLDER RECORDING...
const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');

const folder = process.argv[2];
const socket = path.join(folder, 'tmux');
const END = 'end-of-the-recording';

function tmux(...words) {
  const run = spawnSync('tmux', ['-S', socket, '-f', path.join(folder, 'tmux.conf'), ...words], { encoding: 'utf8' });
  if (run.status !== 0) throw new Error(`tmux ${words[0]}: ${run.stderr}`);
  return run.stdout;
}

function lines(recording, name) {
  const [columns, rows] = recording.steps[0].size;
  const bytes = path.join(folder, `${name}.bytes`);
  fs.writeFileSync(bytes, Buffer.concat(recording.steps.slice(1).map((step) => Buffer.from(step.bytes))));
  const command = `cat '${bytes}'; echo ${END}; exec sleep 60`;
  tmux('new-session', '-d', '-s', name, '-x', String(columns), '-y', String(rows), command);
  const until = Date.now() + 20000;
  let shown = '';
  while (!shown.includes(END)) {
    if (Date.now() > until) throw new Error(`${name}: tmux has not played it`);
    shown = tmux('capture-pane', '-p', '-J', '-S', '-', '-t', name);
  }
  tmux('kill-session', '-t', name);
  return shown.split('\n');
}

fs.writeFileSync(path.join(folder, 'tmux.conf'), 'set -g history-limit 100000\nset -g exit-empty off\n');
let checked = 0;
let failed = 0;
let played = 0;
try {
  for (const file of process.argv.slice(3)) {
    const recording = JSON.parse(fs.readFileSync(file, 'utf8'));
    if (recording.steps.slice(1).some((step) => step.size)) continue;
    const found = lines(recording, path.basename(file, '.json'));
    played += 1;
    for (const mark of recording.once) {
      const count = found.filter((line) => line.includes(mark)).length;
      checked += 1;
      if (count !== 1) {
        failed += 1;
        console.error(`${path.basename(file)}: ${JSON.stringify(mark)} stands in ${count} lines of tmux`);
      }
    }
  }
} finally {
  spawnSync('tmux', ['-S', socket, 'kill-server']);
}
console.log(`tmux: ${checked} lines of ${played} recordings, ${failed} wrong`);
process.exitCode = failed > 0 || checked === 0 ? 1 : 0;
