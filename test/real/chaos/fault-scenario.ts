/** The scenario of proxy-faults.test.ts: an operator behind the proxy, and changes while a fault is active. */
import { ConnectionInfo, Operator } from 'kopf'
import { expect } from 'vitest'
import type { Lab } from '../../support/lab.ts'

export interface Call {
  readonly handler: string
  readonly uid: string
  readonly value: unknown
}

/** An operator with short timeouts, so that it notices silence during the test. The other settings are the defaults. */
export function createOperator(lab: Lab, calls: Call[]): Operator {
  const kopf = new Operator({
    settings: {
      watching: { inactivityTimeout: 1.5 },
      networking: { requestTimeout: 1.5, errorBackoffs: [0.2, 0.5, 1, 1, 2, 2, 3, 3] },
      queueing: { errorDelays: [0.5, 1, 1, 2] },
    },
  })
  const note = (handler: string, uid: string, value: unknown): unknown => {
    calls.push({ handler, uid, value })
    return value
  }
  kopf.on.create(lab.widgets, { id: 'made' }, ({ uid, spec, patch }) => {
    patch.status['made'] = note('made', uid, spec['value'])
  })
  kopf.on.update(lab.widgets, { id: 'changed' }, ({ uid, spec, patch }) => {
    patch.status['changed'] = note('changed', uid, spec['value'])
  })
  kopf.on.field(lab.widgets, 'spec.value', { id: 'sized' }, ({ uid, new: value, patch }) => {
    patch.status['sized'] = note('sized', uid, value)
  })
  kopf.on.delete(lab.widgets, { id: 'cleanup' }, ({ uid, spec }) => void note('cleanup', uid, spec['value']))
  return kopf
}

/**
 * Three objects are handled. During the fault, one is edited, one deleted, one deleted and created again as soon as it is gone,
 * and two are created. Afterwards everything must be as without the fault.
 */
export class FaultScenario {
  readonly calls: Call[] = []
  readonly #lab: Lab
  readonly #uids = new Map<string, string>()

  constructor(lab: Lab) {
    this.#lab = lab
  }

  async play(address: string, during: (meanwhile: () => Promise<void>) => Promise<void>): Promise<void> {
    const lab = this.#lab
    await lab.start(createOperator(lab, this.calls), { connection: new ConnectionInfo({ server: address }) })
    for (const name of ['edited', 'deleted', 'recreated']) await this.#create(name, 1)
    for (const name of ['edited', 'deleted', 'recreated']) await this.#untilSized(name, 1)
    await during(() => this.#change())
    await this.#settle()
    this.#check()
  }

  async #change(): Promise<void> {
    const lab = this.#lab
    await this.#create('new', 5)
    await lab.patch('edited', { spec: { value: 2 } })
    await lab.delete('deleted')
    await lab.delete('recreated')
    await lab.patch('edited', { spec: { value: 3, text: 'größer – 値' } })
    await this.#create('newer', 6)
    await lab.patch('newer', { spec: { value: 7 } })
  }

  async #settle(): Promise<void> {
    const lab = this.#lab
    await lab.untilGone('deleted')
    await lab.untilGone('recreated')
    await this.#create('recreated', 8, 'recreated again')
    for (const [name, value] of Object.entries({ new: 5, edited: 3, newer: 7, recreated: 8 })) {
      await this.#untilSized(name, value)
    }
    expect((await lab.get('edited'))['status']).toMatchObject({ made: 1, changed: 3, sized: 3 })
    expect((await lab.get('recreated'))['status']).toEqual({ made: 8, sized: 8 })
  }

  /** Each object is handled as created once, and each deleted object is cleaned up once. */
  #check(): void {
    const count = (handler: string, name: string): number =>
      this.calls.filter((call) => call.handler === handler && call.uid === this.#uids.get(name)).length
    for (const name of this.#uids.keys()) expect([name, count('made', name)]).toEqual([name, 1])
    for (const name of ['deleted', 'recreated']) expect([name, count('cleanup', name)]).toEqual([name, 1])
    for (const name of ['edited', 'new', 'newer', 'recreated again']) expect(count('cleanup', name)).toBe(0)
  }

  async #create(name: string, value: number, key: string = name): Promise<void> {
    const { metadata } = await this.#lab.create(name, { spec: { value } })
    this.#uids.set(key, metadata.uid!)
  }

  async #untilSized(name: string, value: number): Promise<void> {
    const isHandled = (text: string | undefined): boolean => text !== undefined && JSON.parse(text).spec.value === value
    await this.#lab.untilObject(name, ({ metadata, status }) => {
      const annotations = metadata.annotations as Readonly<Record<string, string>> | undefined
      const handled = annotations?.['kopf.zalando.org/last-handled-configuration']
      return (status as { sized?: number } | undefined)?.sized === value && isHandled(handled)
    })
  }
}
