/** Daemons and timers that wait. On SIGUSR2, prints how many there are and how late the timers were. */
import { Operator } from 'kopf'

const gadgets = [process.env['BENCH_GROUP'] as string, 'v1', process.env['BENCH_PLURAL'] as string] as const
const interval = Number(process.env['BENCH_INTERVAL'])

interface Memo {
  tickedMs: number
}

const kopf: Operator<Memo> = new Operator({ memo: () => ({ tickedMs: 0 }) })
export default kopf

let daemons = 0
let timers = 0
let turns = 0
/** In milliseconds, since the last report. */
let lateness: number[] = []

kopf.daemon(gadgets, { id: 'wait' }, async ({ stopped }) => {
  daemons += 1
  while (!(await stopped.wait(interval))) turns += 1
})

kopf.timer(gadgets, { id: 'tick', interval }, ({ memo }) => {
  const nowMs = performance.now()
  if (memo.tickedMs === 0) timers += 1
  else lateness.push(nowMs - memo.tickedMs - interval * 1000)
  memo.tickedMs = nowMs
})

process.on('SIGUSR2', () => {
  console.log(`report ${JSON.stringify({ daemons, timers, turns, lateness })}`)
  turns = 0
  lateness = []
})
