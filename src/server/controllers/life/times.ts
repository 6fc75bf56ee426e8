/** Times as they stand in objects: to the second, in UTC. Pure. */

/** The beginning of time for what has none. */
export function parseTime(text: string | undefined): number {
  return text === undefined ? 0 : Date.parse(text)
}

export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
