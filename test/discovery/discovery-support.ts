/** CRDs that are created and deleted while an operator runs, and their objects. */
import type { Tree } from '../support/answers.ts'
import { type CrdOptions, crd, crdsPath } from '../support/crds.ts'
import type { Body, Lab } from '../support/lab.ts'

/** One kind in the group of the lab, whose CRD can be created repeatedly. The test deletes it. */
export class Kind {
  readonly plural: string
  readonly #lab: Lab
  readonly #kind: string

  constructor(lab: Lab, kind: string) {
    this.#lab = lab
    this.#kind = kind
    this.plural = `${kind.toLowerCase()}s`
  }

  get selector(): readonly [string, string] {
    return [this.#lab.group, this.plural]
  }

  get definition(): string {
    return `${crdsPath}/${this.plural}.${this.#lab.group}`
  }

  /** Resolves when the API server serves the first version at least. */
  async define(options: Partial<CrdOptions> = {}): Promise<void> {
    const { group } = this.#lab
    const definition = crd({ group, kind: this.#kind, plural: this.plural, ...options })
    const { status, text } = await this.#lab.call('POST', crdsPath, definition)
    if (status !== 201) throw new Error(`Cannot define: ${text}`)
    const [{ name: version = 'v1' } = {}] = (options.versions ?? []) as { name?: string }[]
    const path = `/apis/${group}/${version}/${this.plural}`
    await this.#lab.until(async () => (await this.#lab.call('GET', path)).status === 200)
  }

  async change(patch: Tree): Promise<void> {
    const { status, text } = await this.#lab.call('PATCH', this.definition, patch, 'application/merge-patch+json')
    if (status !== 200) throw new Error(`Cannot change the definition: ${text}`)
  }

  async remove(): Promise<void> {
    await this.#lab.call('DELETE', this.definition)
    await this.#lab.until(async () => (await this.#lab.call('GET', this.definition)).status === 404)
  }

  path(name: string = '', { version = 'v1', isGlobal = false }: Place = {}): string {
    const where = isGlobal ? '' : `/namespaces/${this.#lab.namespace}`
    return `/apis/${this.#lab.group}/${version}${where}/${this.plural}${name && `/${name}`}`
  }

  /** Retries, since objects of a new CRD cannot be created at once. */
  async create(name: string, fields: Tree = {}, place: Place = {}): Promise<Body> {
    let body = {} as Body
    await this.#lab.until(async () => {
      const answer = await this.#lab.call('POST', this.path('', place), {
        apiVersion: `${this.#lab.group}/${place.version ?? 'v1'}`,
        kind: this.#kind,
        metadata: { name },
        ...fields,
      })
      body = answer.body
      return answer.status === 201
    })
    return body
  }
}

interface Place {
  readonly version?: string
  readonly isGlobal?: boolean
}
