/** A line of the last ten minutes without axes, beside its newest value. Screen readers get a sentence instead of the drawing. */
import type { JSX } from 'preact'
import type { Sample } from '../../dashboard/protocol.ts'
import { formatRate, formatTime } from './format.ts'
import { Icon } from './icons.tsx'

const width = 120
const height = 28

export interface TileProps {
  readonly label: string
  readonly unit?: string
  readonly history: readonly Sample[]
  readonly field: Exclude<keyof Sample, 'atMs'>
  /** The newest value, if it is more recent than the history. */
  readonly value?: number
  /** Values above are shown as a warning. */
  readonly limit?: number
  readonly meaning: string
}

export function Tile({ label, unit = '', history, field, value, limit, meaning }: TileProps): JSX.Element {
  const values = history.map((sample) => sample[field])
  const newest = value ?? values.at(-1) ?? 0
  const top = Math.max(...values, 0)
  const isHigh = limit !== undefined && newest > limit
  return (
    <div class={`tile${isHigh ? ' warn' : ''}`} title={meaning}>
      <dt>{label}</dt>
      <dd>
        <span class="value">
          {isHigh && <Icon name="warning" />} {formatRate(newest)}
          {unit !== '' && <small> {unit}</small>}
        </span>
        <Sparkline values={values} top={top} label={describe(label, unit, newest, history, top)} />
        <span class="muted range">highest {formatRate(top)}</span>
      </dd>
    </div>
  )
}

function describe(label: string, unit: string, newest: number, history: readonly Sample[], top: number): string {
  const since = history[0] === undefined ? '' : ` since ${formatTime(history[0].atMs).slice(0, 5)}`
  return `${label}: ${formatRate(newest)} ${unit}, highest ${formatRate(top)}${since}`
}

function Sparkline(props: { readonly values: readonly number[]; readonly top: number; readonly label: string }) {
  const { values, top, label } = props
  const line = toLine(values, top)
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {line !== '' && <path class="area" d={`${line}L${width} ${height}L${positionOf(0, values.length)} ${height}Z`} />}
      {line !== '' && <path class="line" d={line} />}
    </svg>
  )
}

/** The newest value is at the right edge. The history of the first minutes takes a part of the width. */
const minShown = 36

function positionOf(index: number, count: number): number {
  const shown = Math.max(count, minShown)
  return Math.round((width - ((count - 1 - index) * width) / (shown - 1)) * 10) / 10
}

/** The path of the line; empty for fewer than two values. */
function toLine(values: readonly number[], top: number): string {
  if (values.length < 2) return ''
  const space = height - 3
  const points = values.map((value, index) => {
    const y = Math.round((height - 1.5 - (top === 0 ? 0 : (value / top) * space)) * 10) / 10
    return `${positionOf(index, values.length)} ${y}`
  })
  return `M${points.join('L')}`
}
