/** The lines of `kopf top` above the tables: the state of the operator, its rates, and its problems. Pure. */
import type { Sample } from '../../dashboard/protocol.ts'
import type { Palette } from '../display/colours.ts'
import { toCount, toDuration } from '../display/render.ts'
import { truncate, widthOf } from '../display/text-width.ts'
import { toAmount, toRate } from './top-columns.ts'
import type { TopSnapshot } from './top-snapshot.ts'
import { toCell } from './top-table.ts'

export interface HeadStyle {
  readonly columns: number
  readonly palette: Palette
  readonly nowMs: number
  /** Whether the display is paused. */
  readonly isPaused: boolean
  /** Why the data is not of this moment. */
  readonly problem?: string | undefined
}

/** Parts that are joined by two spaces, each painted, in as many lines as they need. */
type Part = readonly [text: string, paint?: ((text: string) => string) | undefined]

export function flow(parts: readonly (Part | undefined)[], columns: number): string[] {
  const lines: Part[][] = []
  let used = Infinity
  for (const [text, paint] of parts.filter((part) => part !== undefined)) {
    const cut = truncate(columns, text)
    const width = widthOf(cut)
    if (used + 2 + width > columns) {
      lines.push([])
      used = -2
    }
    lines.at(-1)!.push([cut, paint])
    used += 2 + width
  }
  return lines.map((line) => line.map(([text, paint]) => paint?.(text) ?? text).join('  '))
}

/** Words on as many lines as they need. */
export function wrap(text: string, columns: number): string[] {
  return flow(
    text.split(' ').map((word) => [word] as const),
    columns,
  ).map((line) => line.replaceAll('  ', ' '))
}

export function drawHead(snapshot: TopSnapshot, style: HeadStyle): string[] {
  const { overview, problems, requests } = snapshot
  const { operator, queue, eventLoop, memory, readiness, history, webhooks, daemons } = overview
  const { palette, columns, nowMs, isPaused, problem } = style
  const last = history.at(-1)
  const isLate = queue.waiting > 0 && queue.longestWaitSeconds > slowSeconds
  const title: readonly (Part | undefined)[] = [
    [toCell(operator.name ?? 'operator'), palette.bold],
    [describePhase(snapshot), paintPhase(snapshot, palette)],
    operator.leader === 'none' ? undefined : [toCell(operator.leader)],
    readiness.ready ? undefined : ['not ready', palette.yellow],
    isPaused ? ['display paused', palette.yellow] : undefined,
    [`up ${toDuration(Math.max(0, nowMs - operator.startedAtMs))}`, palette.dim],
    [
      `kopf ${toCell(operator.version)} on ${toCell(operator.server ?? `Node ${String(operator.node).replace(/^v/, '')}`)}`,
      palette.dim,
    ],
  ]
  const numbers: readonly (Part | undefined)[] = [
    [`queue ${toAmount(queue.waiting)}`],
    [`active ${toAmount(queue.active)}`],
    isLate ? [`longest wait ${toDuration(queue.longestWaitSeconds * 1000)}`, palette.yellow] : undefined,
    [`requests ${toRate(requests.perSecond)}/s`],
    last && [`events ${toRate(last.events)}/s`],
    [`loop lag ${toAmount(Math.round(eventLoop.lagMs))} ms`, eventLoop.lagMs > slowLagMs ? palette.yellow : undefined],
    [`memory ${toAmount(Math.round(memory.rssBytes / 2 ** 20))} MiB`],
    daemons > 0 ? [`daemons ${toAmount(daemons)}`] : undefined,
    webhooks && [`reviews ${toAmount(webhooks.reviews)}`],
  ]
  return [
    ...flow(title, columns),
    ...flow(numbers, columns),
    ...drawSparklines(history, style),
    ...(problem === undefined ? [] : [palette.red(truncate(columns, toCell(problem)))]),
    ...drawProblems(problems.problems, style),
  ]
}

/** From here on, a wait in the queue and the event-loop lag are highlighted. */
const slowSeconds = 10
const slowLagMs = 100
const maxProblems = 3

function drawProblems(problems: TopSnapshot['problems']['problems'], { columns, palette }: HeadStyle): string[] {
  const lines = problems.slice(0, maxProblems).map(({ severity, title, remedy }) => {
    const [word, paint] =
      severity === 'error' ? (['Problem', palette.red] as const) : (['Warning', palette.yellow] as const)
    return paint(truncate(columns, `${word}: ${toCell(title)} ${toCell(remedy)}`))
  })
  const more = problems.length - lines.length
  return more <= 0 ? lines : [...lines, truncate(columns, `and ${toCount(more, 'more problem')}`)]
}

function describePhase({ overview: { operator } }: TopSnapshot): string {
  if (operator.phase !== 'running') return toCell(operator.phase)
  if (operator.isPaused) return 'paused'
  return operator.pausedNamespaces?.length > 0
    ? `running, paused in ${toCount(operator.pausedNamespaces.length, 'namespace')}`
    : 'running'
}

function paintPhase({ overview: { operator } }: TopSnapshot, palette: Palette): (text: string) => string {
  const isWell = operator.phase === 'running' && !operator.isPaused && operator.leader !== 'lost'
  return isWell ? palette.green : palette.yellow
}

const bars = '▁▂▃▄▅▆▇█'
const minSparkline = 20

/** The last minutes of three rates, as wide as the terminal allows. */
function drawSparklines(history: readonly Sample[], { columns, palette }: HeadStyle): string[] {
  const series = [
    ['requests', (sample: Sample) => sample.requests],
    ['calls', (sample: Sample) => sample.handlerCalls],
    ['errors', (sample: Sample) => sample.handlerErrors],
  ] as const
  const names = series.reduce((sum, [name]) => sum + name.length + 1, 0)
  const width = Math.min(history.length, Math.floor((columns - names - 4) / series.length))
  if (width < minSparkline) return []
  const recent = history.slice(-width)
  return [series.map(([name, value]) => `${palette.dim(name)} ${toSparkline(recent.map(value))}`).join('  ')]
}

/** Zero is the lowest bar; every other value is higher. */
function toSparkline(values: readonly number[]): string {
  const max = Math.max(...values)
  return values.map((value) => bars[value > 0 ? Math.ceil((value / max) * (bars.length - 1)) : 0] ?? ' ').join('')
}
