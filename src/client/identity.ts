/**
 * Who we are to other operators: the pod where it was told its name, else who runs us, and where. The same words as Kopf's, so that
 * one may take back what the other has said. One of the files of this room that may read the environment.
 */
import { lookup, lookupService } from 'node:dns/promises'
import { hostname, userInfo } from 'node:os'
import { systemClock } from '../util/clock.ts'
import { within } from '../util/within.ts'

/** Of one run of an operator: no other has the same, not even the next one of the same user. */
export async function createIdentity(nowMs: number, random: () => number): Promise<string> {
  const pod = podId()
  if (pod !== undefined) return pod
  const stamp = new Date(nowMs).toISOString().replace(/\D/g, '').slice(0, 14)
  return `${await describeUser()}/${stamp}/${pickCharacters(3, random)}`
}

/** Of a person at the command line: the same each time. */
export async function personalIdentity(): Promise<string> {
  return podId() ?? describeUser()
}

/** Set in the manifest of the pod, from its `metadata.name`. */
function podId(): string | undefined {
  return process.env['POD_ID'] || undefined
}

async function describeUser(): Promise<string> {
  return `${userName()}@${await describeHost()}`
}

/** In the order in which Python looks for it. In containers there may be no user of our number. */
function userName(): string {
  const named = ['LOGNAME', 'USER', 'LNAME', 'USERNAME'].map((name) => process.env[name]).find(Boolean)
  if (named !== undefined) return named
  try {
    return userInfo().username
  } catch {
    return 'operator'
  }
}

/** A name server that does not answer is no reason to wait for long. */
const patienceMs = 2000

/** With the domain, where the machine knows its own. */
async function describeHost(): Promise<string> {
  const names = [hostname()]
  const look = async () => {
    const { address } = await lookup(hostname())
    names.unshift((await lookupService(address, 0)).hostname)
  }
  await within(systemClock, patienceMs, look()).catch(() => {})
  const telling = names.filter((name) => name !== 'localhost' && !name.endsWith('.arpa') && !/^[\d.:]+$/.test(name))
  const best = telling.find((name) => name.includes('.')) ?? telling[0] ?? hostname()
  return best.replace(/(\.local|\.localdomain)+$/, '')
}

const characters = 'abcdefhijklmnopqrstuvwxyz0123456789'

function pickCharacters(count: number, random: () => number): string {
  return Array.from({ length: count }, () => characters[Math.floor(random() * characters.length)]).join('')
}
