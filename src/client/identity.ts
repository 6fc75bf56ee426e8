/**
 * The identity of an operator for peering and leader election: the pod's name if `POD_ID` is set, otherwise user, host and a suffix.
 * Same format as Kopf's, so that each can remove records of the other. One of the files of client/ that may read the environment.
 */
import { lookup, lookupService } from 'node:dns/promises'
import { hostname, userInfo } from 'node:os'
import { systemClock } from '../util/async/clock.ts'
import { withTimeout } from '../util/async/with-timeout.ts'

/** The identity of one run: another run of the same user has another one, except in a pod with `POD_ID`. */
export async function createIdentity(nowMs: number, random: () => number): Promise<string> {
  const pod = podId()
  if (pod !== undefined) return pod
  const stamp = new Date(nowMs).toISOString().replace(/\D/g, '').slice(0, 14)
  return `${await describeUser()}/${stamp}/${pickCharacters(3, random)}`
}

/** The identity for commands such as `kopf freeze`: the same each time. */
export async function personalIdentity(): Promise<string> {
  return podId() ?? describeUser()
}

/** `POD_ID`, which the pod's manifest sets from `metadata.name`. */
function podId(): string | undefined {
  return process.env['POD_ID'] || undefined
}

async function describeUser(): Promise<string> {
  return `${userName()}@${await describeHost()}`
}

/** Reads the variables in the order of Python's `getpass`. In a container, the user id may have no entry in /etc/passwd. */
function userName(): string {
  const named = ['LOGNAME', 'USER', 'LNAME', 'USERNAME'].map((name) => process.env[name]).find(Boolean)
  if (named !== undefined) return named
  try {
    return userInfo().username
  } catch {
    return 'operator'
  }
}

/** Timeout for the name server. */
const lookupTimeoutMs = 2000

/** The host name, with its domain if reverse lookup finds one. */
async function describeHost(): Promise<string> {
  const names = [hostname()]
  const lookUp = async () => {
    const { address } = await lookup(hostname())
    names.unshift((await lookupService(address, 0)).hostname)
  }
  await withTimeout(systemClock, lookupTimeoutMs, lookUp()).catch(() => {})
  const usable = names.filter((name) => name !== 'localhost' && !name.endsWith('.arpa') && !/^[\d.:]+$/.test(name))
  const best = usable.find((name) => name.includes('.')) ?? usable[0] ?? hostname()
  return best.replace(/(\.local|\.localdomain)+$/, '')
}

const characters = 'abcdefhijklmnopqrstuvwxyz0123456789'

function pickCharacters(count: number, random: () => number): string {
  return Array.from({ length: count }, () => characters[Math.floor(random() * characters.length)]).join('')
}
