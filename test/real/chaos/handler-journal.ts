/** The journal of all handler calls of the soak, over all processes, and the rules for it. Pure. */

export interface Entry {
  /** The number of the process. */
  readonly life: number
  readonly handler: string
  readonly uid: string
  readonly name: string
  readonly retry: number
  readonly value: number
  /** The resourceVersion of the object in the handler. */
  readonly version: string
  readonly phase: 'begun' | 'failed' | 'done'
}

export function parseJournal(text: string): Entry[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as Entry)
}

/** Returns one sentence for each violated rule. `alive` has the uids of the objects that exist at the end. */
export function checkJournal(entries: readonly Entry[], alive: ReadonlySet<string>): string[] {
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

/** Two handlers of one object never run at once. */
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

/** No handler gets an older state than an earlier handler. */
function steppedBack(own: readonly Entry[]): string[] {
  const begun = own.filter(({ phase }) => phase === 'begun')
  const isBack = (entry: Entry, index: number): boolean =>
    index > 0 && BigInt(entry.version) < BigInt(begun[index - 1]!.version)
  return begun.filter(isBack).map((entry) => `${nameOf(own)}: "${entry.handler}" saw ${entry.version}, an older state`)
}

/** Creation and clean-up are done once in a process. */
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

/** An object is not handled any more after its successor of the same name. */
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

/** The number of calls that an earlier process had finished already: allowed only if it was killed before its write. */
export function countRepeats(entries: readonly Entry[]): number {
  const done = entries.filter(({ phase, handler }) => phase === 'done' && (handler === 'born' || handler === 'cleanup'))
  return done.length - new Set(done.map(({ uid, handler }) => `${uid} ${handler}`)).size
}
