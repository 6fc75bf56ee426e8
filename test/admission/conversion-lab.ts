/** A lab whose `widgets` are served in three versions; objects of a fourth are still stored but no longer served. */
import { Operator } from 'kopf'
import type { Tree } from '../support/answers.ts'
import { anything } from '../support/crds.ts'
import { type Lab, useLab } from '../support/lab.ts'
import { Door } from './admission-support.ts'

interface Converted {
  readonly uid: string
  readonly result: { readonly status: string; readonly message?: string }
  readonly convertedObjects?: readonly Tree[]
}

interface Started {
  readonly door: Door
  readonly post: (review: unknown, signal?: AbortSignal) => Promise<Converted>
  readonly convert: (objects: readonly Tree[], version: string) => Promise<Converted>
}

export type Spec = Readonly<Record<string, unknown>>
export type Convert = (args: { spec: Spec; body: Tree; name: string; resource: { version: string } }) => unknown

function versionOf(name: string, fields: Tree = {}): Tree {
  return { name, served: true, storage: false, schema: { openAPIV3Schema: anything }, ...fields }
}

const versions = [
  versionOf('v1', { storage: true }),
  versionOf('v2'),
  versionOf('v3'),
  versionOf('v1alpha1', { served: false }),
]

export class Conversions {
  readonly lab: Lab = useLab({ crd: { versions } })

  objectOf(version: string, fields: Tree = {}): Tree {
    const { metadata, ...rest } = fields
    return {
      apiVersion: `${this.lab.group}/${version}`,
      kind: 'Widget',
      metadata: { name: 'one', namespace: 'default', uid: 'u', ...(metadata as Tree) },
      ...rest,
    }
  }

  reviewOf(objects: readonly Tree[], version: string): Tree {
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      request: { uid: 'review-uid', desiredAPIVersion: `${this.lab.group}/${version}`, objects },
    }
  }

  /** Conversions keyed by their versions, such as `v1-v2`. */
  operatorOf(conversions: Readonly<Record<string, Convert>>): Operator {
    const kopf = new Operator()
    for (const [names, convert] of Object.entries(conversions)) {
      const [from, to] = names.split('-') as [string, string]
      kopf.on.convert([this.lab.group, from, 'widgets'], { from, to, id: 'convert' }, convert as never)
    }
    return kopf
  }

  async start(kopf: Operator): Promise<Started> {
    const door = new Door(this.lab, kopf)
    await this.lab.start(kopf)
    const post = async (review: unknown, signal?: AbortSignal) =>
      ((await door.fn(review, { webhook: 'convert', ...(signal && { signal }) })) as { response: Converted }).response
    const convert = (objects: readonly Tree[], version: string) => post(this.reviewOf(objects, version))
    return { door, post, convert }
  }
}
