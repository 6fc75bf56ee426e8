/**
 * Children in a simulation: a reconciler that returns them, other writers that change and delete them, and the model
 * of the expected children at the end. Registered with each process by simulated-world.ts.
 */
import { buildObject, type Operator, TemporaryError } from 'kopf'
import { ConfigMap } from 'kopf/kubernetes'
import type { Tree } from '../support/answers.ts'
import { ask } from '../support/in-process.ts'
import type { Stage } from './daemon-behaviour.ts'
import { forever } from './process-clock.ts'
import { fate } from './random.ts'
import type { Action, Mischief, Twin } from './simulated-edits.ts'
import { finalizer, itemsOf, text } from './simulated-handlers.ts'
import type { World } from './simulated-world.ts'
import type { WrittenObject } from './wire-messages.ts'

/** A call of the reconciler. */
interface Call {
  readonly uid: string
  readonly deleting: boolean
  end: 'running' | 'done' | 'failed'
}

interface Child {
  readonly metadata: {
    readonly name: string
    readonly ownerReferences?: ReadonlyArray<{ readonly uid: string }>
    readonly deletionTimestamp?: string
  }
  readonly data?: Readonly<Record<string, string>>
}

type Spec = Readonly<Record<string, unknown>>

const path = '/api/v1/namespaces/sim/configmaps'

export class Offspring {
  readonly calls: Call[] = []
  readonly #world: World
  /** Foreign objects without an owner, which must stay unchanged. */
  readonly #foreign = new Set<string>()

  constructor(world: World) {
    this.#world = world
  }

  register(operator: Operator, widgets: readonly [string, string, string], stage: Stage): void {
    const { hasCleanup, isOrdered } = this.#world.nature
    const busy = new Set<string>()
    const { journal } = this.#world
    operator.reconcile(widgets, { id: 'family', owns: ['configmaps'], cleanup: hasCleanup }, async (args) => {
      if (stage.isDead()) return forever()
      const { uid, name, meta, spec, deleting, retry } = args
      journal.tell(
        `-> family ${name} ${uid.slice(0, 4)} v${meta.resourceVersion} #${retry}${deleting ? ' deleting' : ''}`,
      )
      if (busy.has(uid)) journal.violate('P1', `the reconciler of ${name} is called while it is running`)
      const facts = {
        process: stage.process,
        uid,
        version: Number(meta.resourceVersion),
        who: `the reconciler of ${name}`,
      }
      journal.checkVersion(facts)
      const call: Call = { uid, deleting, end: 'running' }
      this.calls.push(call)
      busy.add(uid)
      try {
        await behave(stage, { name, spec, retry })
        call.end = 'done'
      } catch (error) {
        call.end = 'failed'
        throw error
      } finally {
        busy.delete(uid)
      }
      if (deleting) return undefined
      const [first, ...rest] = wantedOf(name, spec).map(([child, data]) => toChild(child, data))
      return { children: isOrdered ? [[first!], rest] : [first!, ...rest] }
    })
  }

  /** The hostile actions on children. */
  get mischief(): Mischief {
    const nothing = () => {}
    return { openGap: nothing, closeGap: nothing, noteDelete: nothing, actionsOn: (twin) => this.#actionsOn(twin) }
  }

  #actionsOn(twin: Twin): readonly Action[] {
    const { whims } = this.#world
    const names = ['base', 'x', 'y', 'z'].map((item) => `${twin.name}-${item}`)
    const name = () => whims.pick(names)
    return [
      [5, () => this.#call('PATCH', name(), { data: { size: 'theirs' } })],
      [2, () => this.#call('PATCH', name(), { data: { size: null } })],
      [2, () => this.#call('PATCH', name(), { data: { theirs: String(whims.below(3)) } })],
      [3, () => this.#call('DELETE', name())],
      [1, () => this.#call('PATCH', name(), { metadata: { labels: null } })],
      [1, () => this.#call('PATCH', name(), { metadata: { ownerReferences: null } })],
      [1, () => this.#call('PATCH', name(), { metadata: { annotations: null } })],
      [1, () => this.#makeForeign(twin)],
    ]
  }

  async #makeForeign(twin: Twin): Promise<void> {
    const name = `${twin.name}-foreign`
    await ask(this.#world.server, 'POST', path, { body: toChild(name, { theirs: 'yes' }) as unknown as Tree })
    this.#foreign.add(name)
  }

  async #call(method: string, name: string, body?: Tree): Promise<void> {
    this.#world.journal.tell(`${method} ${name} ${body === undefined ? '' : JSON.stringify(body)}`)
    await ask(this.#world.server, method, `${path}/${name}`, body === undefined ? {} : { body })
  }

  /** P5: a released object has been cleaned up. */
  checkRelease({ metadata: { uid, name, finalizers = [], deletionTimestamp } }: WrittenObject): void {
    if (!this.#world.nature.hasCleanup || deletionTimestamp === undefined || finalizers.includes(finalizer)) return
    const isCleaned = this.calls.some((call) => call.uid === uid && call.deleting && call.end === 'done')
    if (!isCleaned) this.#world.journal.violate('P5', `${name} is let go without its clean-up`)
  }

  /** L1, P6: exactly the desired children exist without drift, and foreign objects are unchanged. */
  async check(live: readonly Twin[]): Promise<void> {
    const { server, journal } = this.#world
    const { body } = await ask(server, 'GET', path)
    const children = (body as unknown as { items: Child[] }).items
    for (const twin of live) {
      if (twin.isDeleting) continue
      const own = children.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === twin.uid))
      const is = Object.fromEntries(own.map(({ metadata, data = {} }) => [metadata.name, ours(data)]))
      const ought = Object.fromEntries(wantedOf(twin.name, twin.spec))
      if (text(is) !== text(ought)) journal.violate('L1', `${twin.name} has ${text(is)}, not ${text(ought)}`)
    }
    const owners = new Set(live.map(({ uid }) => uid))
    for (const { metadata, data } of children) {
      if (this.#foreign.has(metadata.name)) {
        if (text(data) !== text({ theirs: 'yes' })) journal.violate('P6', `${metadata.name} is ${text(data)}`)
      } else if (metadata.ownerReferences?.some(({ uid }) => !owners.has(uid))) {
        journal.violate('L1', `${metadata.name} is there without its owner`)
      }
    }
  }
}

/** The names and data of the desired children. */
function wantedOf(name: string, spec: Spec): Array<[string, Record<string, string>]> {
  const items = ['base', ...new Set(itemsOf(spec))]
  return items.map((item) => [`${name}-${item}`, { size: String(spec['size'] ?? 'none'), item }])
}

function toChild(name: string, data: Readonly<Record<string, string>>): ConfigMap {
  return buildObject(ConfigMap, { metadata: { name }, data })
}

function ours({ theirs: _, ...data }: Readonly<Record<string, string>>): object {
  return data
}

async function behave(
  { seed, clock, isRough }: Stage,
  { name, spec, retry }: { readonly name: string; readonly spec: Spec; readonly retry: number },
): Promise<void> {
  if (!isRough) return
  const luck = fate(seed, 'family', name, spec['size'], retry)
  if (luck > 0.6) await clock.sleep((luck - 0.6) * 8000)
  if (retry >= 2) return
  if (luck > 0.9) throw new TemporaryError('not yet', { delay: 1 })
  if (luck > 0.8) throw new Error('whatever')
}
