/** What the handlers of the soak wrote down, whichever process they were in, and what must be true of it. Pure. */

export interface Entry {
  /** Which process of the operator it was. */
  readonly life: number
  readonly handler: string
  readonly uid: string
  readonly name: string
  readonly retry: number
  readonly value: number
  /** Of the object as the handler saw it. */
  readonly version: string
  readonly phase: 'begun' | 'failed' | 'done'
}

export function parseJournal(text: string): Entry[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as Entry)
}

/** One sentence for each thing that must not have happened. `alive`: the uids that are there at the end. */
export function judgeJournal(entries: readonly Entry[], alive: ReadonlySet<string>): string[] {
  const byUid = groupByUid(entries)
  const wrong = [...byUid.values()].flatMap((own) => [...overlaps(own), ...steppedBack(own), ...repeated(own)])
  for (const [uid, own] of byUid) {
    if (!alive.has(uid) && !own.some(isDone('cleanup'))) wrong.push(`${nameOf(own)} went without its clean-up`)
  }
  return [...wrong, ...lateCleanups(entries)]
}

function groupByUid(entries: readonly Entry[]): ReadonlyMap<string, readonly Entry[]> {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const group = groups.get(entry.uid)
    if (group === undefined) groups.set(entry.uid, [entry])
    else group.push(entry)
  }
  return groups
}

function isDone(handler: string): (entry: Entry) => boolean {
  return (entry) => entry.handler === handler && entry.phase === 'done'
}

function nameOf([first]: readonly Entry[]): string {
  return `${first!.name} (${first!.uid})`
}

/** No two handlers of one object at once. */
function overlaps(own: readonly Entry[]): string[] {
  const wrong: string[] = []
  let running: Entry | undefined
  for (const entry of own) {
    const isOther = running !== undefined && running.life === entry.life && running.handler !== entry.handler
    if (isOther || (running?.life === entry.life && entry.phase === 'begun')) {
      wrong.push(`${nameOf(own)}: "${entry.handler}" while "${running!.handler}" was running`)
    }
    running = entry.phase === 'begun' ? entry : undefined
  }
  return wrong
}

/** No handler sees an older object than one before it did. */
function steppedBack(own: readonly Entry[]): string[] {
  const begun = own.filter(({ phase }) => phase === 'begun')
  const isBack = (entry: Entry, index: number): boolean =>
    index > 0 && BigInt(entry.version) < BigInt(begun[index - 1]!.version)
  return begun.filter(isBack).map((entry) => `${nameOf(own)}: "${entry.handler}" saw ${entry.version}, an older state`)
}

/** What was done is not done again in the same process: creation and clean-up are once in a life. */
function repeated(own: readonly Entry[]): string[] {
  const seen = new Set<string>()
  return ['born', 'cleanup'].flatMap((handler) =>
    own.filter(isDone(handler)).flatMap(({ life }) => {
      const key = `${handler} ${life}`
      const isAgain = seen.has(key)
      seen.add(key)
      return isAgain ? [`${nameOf(own)}: "${handler}" was done again in the same process`] : []
    }),
  )
}

/** Nothing is cleaned up any more once a successor of the same name is being handled. */
function lateCleanups(entries: readonly Entry[]): string[] {
  const wrong: string[] = []
  const latest = new Map<string, string>()
  const former = new Set<string>()
  for (const { name, uid, handler } of entries) {
    if (former.has(uid)) {
      wrong.push(`${name} (${uid}): "${handler}" after its successor was handled`)
      continue
    }
    const before = latest.get(name)
    if (before !== undefined && before !== uid) former.add(before)
    latest.set(name, uid)
  }
  return wrong
}

/** Runs that an earlier process had done already: allowed only for what was killed before it could write. */
export function countRepeats(entries: readonly Entry[]): number {
  const done = entries.filter(({ phase, handler }) => phase === 'done' && (handler === 'born' || handler === 'cleanup'))
  return done.length - new Set(done.map(({ uid, handler }) => `${uid} ${handler}`)).size
}
