/** Times that move: how long ago, and how long until. They share one tick per second. */
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { skewMs } from '../session.ts'
import { formatDate, formatDistance, formatDuration, formatTime } from './format.ts'

/** The time of the operator's clock, as far as the page knows it. */
export const nowMs = signal(Date.now())

export function startTicking(): void {
  setInterval(() => {
    if (!document.hidden) nowMs.value = Date.now() + skewMs.value
  }, 1000)
}

/** `12 s ago`, `in 2 min`; the exact time is its tooltip. */
export function Distance({ atMs }: { readonly atMs: number | undefined }): JSX.Element | null {
  if (atMs === undefined) return null
  return (
    <time dateTime={new Date(atMs).toISOString()} title={formatDate(atMs)}>
      {formatDistance(atMs, nowMs.value)}
    </time>
  )
}

/** The time until the next attempt or tick. Attempts that are due say so: the worker is busy, or the update has not arrived yet. */
export function Countdown({ atMs }: { readonly atMs: number | undefined }): JSX.Element | null {
  if (atMs === undefined) return null
  const isDue = atMs <= nowMs.value
  return (
    <time dateTime={new Date(atMs).toISOString()} title={formatDate(atMs)}>
      {isDue ? 'due now' : formatDistance(atMs, nowMs.value)}
    </time>
  )
}

/** The time of day of an entry. */
export function ClockTime({ atMs }: { readonly atMs: number }): JSX.Element {
  return (
    <time class="clock" dateTime={new Date(atMs).toISOString()} title={formatDate(atMs)}>
      {formatTime(atMs)}
    </time>
  )
}

export function Milliseconds({ ms }: { readonly ms: number | undefined }): JSX.Element | string {
  return ms === undefined ? <span class="muted">–</span> : formatDuration(ms)
}
