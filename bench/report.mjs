import { groups, machine, median } from './figures.mjs'

/** The results as text: medians over the repetitions, with the spread, and ratios to the limit of the same run. */
export function report(results) {
  return [machine(), '', ...throughputTable(results), '', ...latencyTable(results)].join('\n')
}

function throughputTable(results) {
  const measured = results.filter((result) => result.steps !== undefined)
  const lines = [
    '| store, steps per run | runs/s | steps/s | rows/s | commits/run | rows/commit | CPU µs/run | loop blocked p99 / max ms | of the store alone | of bare SQL |',
    '|---|---|---|---|---|---|---|---|---|---|',
  ]
  for (const group of groups(measured, ({ store, steps }) => `${store}, ${steps}`)) {
    const of = (pick) => median(group.map(pick))
    lines.push(
      `| ${[
        `${group[0].store}, ${group[0].steps}`,
        spread(group.map(({ runsPerSecond }) => runsPerSecond)),
        spread(group.map(({ stepsPerSecond }) => stepsPerSecond)),
        count(of(({ rowsPerSecond }) => rowsPerSecond)),
        of(({ commitsPerRun }) => commitsPerRun).toFixed(2),
        of(({ rowsPerCommit }) => rowsPerCommit).toFixed(1),
        of(({ cpuMicrosPerRun }) => cpuMicrosPerRun).toFixed(0),
        `${of(({ blockedMs }) => blockedMs.p99).toFixed(1)} / ${of(({ blockedMs }) => blockedMs.max).toFixed(1)}`,
        percent(group, ({ storeAlone }) => storeAlone),
        percent(group, ({ bareSql }) => bareSql),
      ].join(' | ')} |`,
    )
  }
  return lines
}

function latencyTable(results) {
  const measured = results.filter((result) => result.lone !== undefined)
  const lines = [
    '| store, one run at a time | p50 / p99 ms, 1 step | commits | p50 / p99 ms, 10 steps | commits | two bare commits, ms |',
    '|---|---|---|---|---|---|',
  ]
  for (const group of groups(measured, ({ store }) => store)) {
    const cells = ['lone', 'loneTen'].flatMap((which) => {
      const of = (pick) => median(group.map((result) => pick(result[which])))
      const time = `${of(({ p50 }) => p50).toFixed(2)} / ${of(({ p99 }) => p99).toFixed(2)}`
      return [time, of(({ commitsPerRun }) => commitsPerRun).toFixed(2)]
    })
    const bare =
      group[0].twoCommits === null ? '–' : median(group.map(({ twoCommits }) => twoCommits)).toFixed(2)
    lines.push(`| ${[group[0].store, ...cells, bare].join(' | ')} |`)
  }
  return lines
}

function spread(numbers) {
  return `${count(median(numbers))} (${count(Math.min(...numbers))}–${count(Math.max(...numbers))})`
}

function count(number) {
  return Math.round(number).toLocaleString('en')
}

/** Ratios are taken inside one repetition, where both ran on the same machine at the same time of day. */
function percent(group, limitOf) {
  if (group.some((result) => limitOf(result) === null)) return '–'
  return `${Math.round(median(group.map((r) => (r.rowsPerSecond / limitOf(r).rowsPerSecond) * 100)))}%`
}
