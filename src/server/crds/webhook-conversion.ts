/**
 * Conversion between the versions of one CRD by its webhook: one review, sent and read, with the rules of the real server
 * before and after it. Made by resources.ts, one for all versions; what is asked for and what is kept is the business of
 * version-converter.ts.
 */
import { randomUUID } from 'node:crypto'
import { formatGroupVersion, type JsonObject, type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import { applyDefaults } from '../schema/default.ts'
import type { SchemaNode } from '../schema/structural.ts'
import { StatusError } from '../status.ts'
import { apiVersionOf, parseStored, type Stored } from '../storage/stored.ts'
import type { WebhookCaller, WebhookClientConfig } from '../webhooks/call.ts'
import { chooseReviewVersion, type Question, readReview, toReview } from './conversion-review.ts'
import { restoreObject } from './converted-object.ts'
import { coerce } from './strategy.ts'

export interface WebhookConversionOptions {
  readonly group: string
  readonly kind: string
  readonly storage: string
  /** All versions that the CRD has, served or not. */
  readonly schemas: ReadonlyMap<string, SchemaNode>
  readonly clientConfig: WebhookClientConfig
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

  /** As a state is read in its own version: by the schema of that one, defaults and all. */
  read(stored: Stored): KubeObject {
    const apiVersion = apiVersionOf(stored)
    const version = this.#versionOf(apiVersion)
    if (version === undefined) throw failure(`request to convert CR from an invalid group/version: ${apiVersion}`)
    const object = this.prune(parseStored(stored))
    applyDefaults(object as unknown as JsonObject, this.#options.schemas.get(version)!)
    return object
  }

  /** Without what its version does not know of. */
  prune(object: KubeObject): KubeObject {
    const { kind, schemas } = this.#options
    const version = this.#versionOf(object.apiVersion)!
    return coerce(object, { schema: schemas.get(version)!, kind, version }).object
  }

  /** Objects of one version in another; asks the webhook once. */
  async convert(objects: readonly KubeObject[], apiVersion: string): Promise<KubeObject[]> {
    const subject = `conversion webhook for ${objects[0]!.apiVersion}, Kind=${objects[0]!.kind}`
    const originals = objects.map(withoutVersion)
    const question: Question = {
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

  async #ask(question: Question, subject: string): Promise<readonly unknown[]> {
    try {
      // Others may wait for the same: that one of them has gone is no reason to stop.
      const { signal } = new AbortController()
      const answer = await this.#webhooks.call(this.#options.clientConfig, toReview(question), { timeoutMs, signal })
      return readReview(answer, question)
    } catch (error) {
      throw failure(`${subject} failed: ${(error as Error).message}`)
    }
  }

  /** Undefined for what the CRD does not have. */
  #versionOf(apiVersion: string): string | undefined {
    const { version = '' } = parseGroupVersion(apiVersion) ?? {}
    return this.#options.schemas.has(version) && this.#apiVersion(version) === apiVersion ? version : undefined
  }

  #apiVersion(version: string): string {
    return formatGroupVersion(this.#options.group, version)
  }
}

/** States are not sent with the version of the store: they are not written with it either. */
function withoutVersion(object: KubeObject): KubeObject {
  const { resourceVersion: _, selfLink: __, ...metadata } = object.metadata
  return { ...object, metadata }
}

/** What the real server fails with here is no answer of its own making: it has no reason. */
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
