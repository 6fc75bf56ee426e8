/** Timestamps of objects: UTC with whole seconds. Pure. */

/** 0 if the timestamp is absent. */
export function parseTime(text: string | undefined): number {
  return text === undefined ? 0 : Date.parse(text)
}

export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
