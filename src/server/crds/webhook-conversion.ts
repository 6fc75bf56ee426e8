/**
 * Converts objects between the versions of a CRD with a single review by its webhook, with the real server's checks before and
 * after. Created by resources.ts, one per CRD; batching and caching are in version-converter.ts.
 */
import { randomUUID } from 'node:crypto'
import { formatGroupVersion, type JsonObject, type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import { applyDefaults } from '../schema/default.ts'
import type { SchemaNode } from '../schema/structural.ts'
import { StatusError } from '../status.ts'
import { apiVersionOf, parseStored, type Stored } from '../storage/stored.ts'
import type { WebhookCaller, WebhookEndpoint } from '../webhooks/call.ts'
import { type ConversionReviewInput, chooseReviewVersion, readReview, toReview } from './conversion-review.ts'
import { restoreObject } from './converted-object.ts'
import { coerce } from './strategy.ts'

export interface WebhookConversionOptions {
  readonly group: string
  readonly kind: string
  readonly storage: string
  /** Schemas of all versions, served or not. */
  readonly schemas: ReadonlyMap<string, SchemaNode>
  readonly clientConfig: WebhookEndpoint
  readonly reviewVersions: readonly string[]
}

const timeoutMs = 30_000

export class WebhookConversion {
  readonly #options: WebhookConversionOptions
  readonly #webhooks: WebhookCaller

  constructor(options: WebhookConversionOptions, webhooks: WebhookCaller) {
    this.#options = options
    this.#webhooks = webhooks
  }

  get storage(): string {
    return this.#apiVersion(this.#options.storage)
  }

  /** Reads a stored object in its own version: pruned and defaulted by the schema of that version. */
  read(stored: Stored): KubeObject {
    const apiVersion = apiVersionOf(stored)
    const version = this.#versionOf(apiVersion)
    if (version === undefined) throw failure(`request to convert CR from an invalid group/version: ${apiVersion}`)
    const object = this.prune(parseStored(stored))
    applyDefaults(object as unknown as JsonObject, this.#options.schemas.get(version)!)
    return object
  }

  /** Drops the fields that the version does not know. */
  prune(object: KubeObject): KubeObject {
    const { kind, schemas } = this.#options
    const version = this.#versionOf(object.apiVersion)!
    return coerce(object, { schema: schemas.get(version)!, kind, version }).object
  }

  /** Converts objects of one version with one call of the webhook. */
  async convert(objects: readonly KubeObject[], apiVersion: string): Promise<KubeObject[]> {
    const subject = `conversion webhook for ${objects[0]!.apiVersion}, Kind=${objects[0]!.kind}`
    const originals = objects.map(withoutVersion)
    const question: ConversionReviewInput = {
      version: chooseReviewVersion(this.#options.reviewVersions),
      uid: randomUUID(),
      desiredAPIVersion: apiVersion,
      objects: originals,
    }
    const answer = await this.#ask(question, subject)
    if (answer.length !== objects.length) {
      throw failure(`${subject} returned ${answer.length} objects, expected ${objects.length}`)
    }
    return answer.map((converted, index) => {
      const original = originals[index]!
      const object = checked(() =>
        restoreObject(converted, { original, desiredAPIVersion: apiVersion, subject, index }),
      )
      const { resourceVersion } = objects[index]!.metadata
      if (resourceVersion !== undefined) object.metadata.resourceVersion = resourceVersion
      return object
    })
  }

  async #ask(question: ConversionReviewInput, subject: string): Promise<readonly unknown[]> {
    try {
      // Never aborted: other requests may wait for the same review after one client disconnects.
      const { signal } = new AbortController()
      const answer = await this.#webhooks.call(this.#options.clientConfig, toReview(question), { timeoutMs, signal })
      return readReview(answer, question)
    } catch (error) {
      throw failure(`${subject} failed: ${(error as Error).message}`)
    }
  }

  /** Undefined if the CRD has no such version. */
  #versionOf(apiVersion: string): string | undefined {
    const { version = '' } = parseGroupVersion(apiVersion) ?? {}
    return this.#options.schemas.has(version) && this.#apiVersion(version) === apiVersion ? version : undefined
  }

  #apiVersion(version: string): string {
    return formatGroupVersion(this.#options.group, version)
  }
}

/** The stored JSON has no resourceVersion, so the webhook does not get one either. */
function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, selfLink: __, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** The real server fails with a plain 500 here, without a reason. */
function failure(message: string): StatusError {
  return new StatusError(500, '', message)
}

function checked<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw failure((error as Error).message)
  }
}
