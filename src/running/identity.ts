/** Who this operator is among others of its kind: seen in what they write for each other, so that people can tell. */
import { randomInt } from 'node:crypto'
import { hostname, userInfo } from 'node:os'

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** `$POD_ID` where it is set; else made up, and another one with every start: `me@laptop/20260131120000/x7k`. */
export function makeIdentity(nowMs: number): string {
  const podId = process.env['POD_ID']
  if (podId) return podId
  const time = new Date(nowMs).toISOString().replace(/\.\d+Z$|\D/g, '')
  const random = Array.from({ length: 3 }, () => letters[randomInt(letters.length)]).join('')
  return `${userName()}@${hostname()}/${time}/${random}`
}

/** Users without an entry in the passwd of a container have no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
