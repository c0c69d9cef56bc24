// Plays recordings of a terminal in xterm.js: every text of `once` must stand in exactly one line of screen and
// scrollback at the end, rows that the terminal has broken joined. Usage: play.cjs MODULE RECORDING...
const fs = require('node:fs');
const path = require('node:path');

const { Terminal } = require(path.resolve(process.argv[2]));

async function lines(recording) {
  const [columns, rows] = recording.steps[0].size;
  const terminal = new Terminal({ cols: columns, rows, scrollback: 100000, allowProposedApi: true });
  for (const step of recording.steps.slice(1)) {
    if (step.size) {
      terminal.resize(...step.size);
    } else {
      await new Promise((done) => terminal.write(Uint8Array.from(step.bytes), done));
    }
  }
  const buffer = terminal.buffer.active;
  const found = [];
  for (let row = 0; row < buffer.length; row += 1) {
    const line = buffer.getLine(row);
    const text = line.translateToString(true);
    if (line.isWrapped && found.length > 0) {
      found[found.length - 1] += text;
    } else {
      found.push(text);
    }
  }
  terminal.dispose();
  return found;
}

async function main() {
  let failed = 0;
  let checked = 0;
  for (const file of process.argv.slice(3)) {
    const recording = JSON.parse(fs.readFileSync(file, 'utf8'));
    const found = await lines(recording);
    for (const mark of recording.once) {
      const count = found.filter((line) => line.includes(mark)).length;
      checked += 1;
      if (count !== 1) {
        failed += 1;
        if (failed <= 20) console.error(`${path.basename(file)}: ${JSON.stringify(mark)} stands in ${count} lines`);
      }
    }
  }
  console.log(`xterm.js: ${checked} lines of ${process.argv.length - 3} recordings, ${failed} wrong`);
  process.exitCode = failed > 0 || checked === 0 ? 1 : 0;
}

main();
