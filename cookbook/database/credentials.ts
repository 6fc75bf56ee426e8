/** The password: generated once, and never again while there is data that it belongs to. It is in one Secret and nowhere else. */
import { randomBytes } from 'node:crypto'
import { buildObject, type Client, isAlreadyExists, isNotFound } from 'kopf'
import { PersistentVolumeClaim, Secret } from 'kopf/kubernetes'
import { claimName, databaseLabel, labelsOf, secretName } from './names.ts'

export interface Problem {
  readonly reason: string
  readonly message: string
}

/** Makes sure that the Secret with the password exists. Returns the problem if it does not. */
export async function ensureCredentials(client: Client, name: string): Promise<Problem | undefined> {
  const secret = await find(client.get(Secret, secretName(name)))
  if (secret !== undefined) return checkOwner(secret, name)
  const claim = await find(client.get(PersistentVolumeClaim, claimName(name)))
  if (claim !== undefined) {
    // PostgreSQL stores its password with the data: a new password would lock everybody out.
    const message = `The data in the claim "${claimName(name)}" has a password, and the Secret "${secretName(name)}" with it is missing: create it again from a copy, with the label ${databaseLabel}=${name}`
    return { reason: 'PasswordMissing', message }
  }
  try {
    await client.create(generate(name))
  } catch (error) {
    // Another replica of the operator, or a user, was faster: the next call reads that Secret.
    if (!isAlreadyExists(error)) throw error
  }
  return undefined
}

/** A Secret of this name that belongs to something else is not used: its password would be readable in the pods of the database. */
function checkOwner({ metadata }: Secret, name: string): Problem | undefined {
  if (metadata?.labels?.[databaseLabel] === name) return undefined
  const message = `The Secret "${secretName(name)}" exists and does not belong to this database: label it with ${databaseLabel}=${name} to use it, or delete it`
  return { reason: 'SecretNotOwned', message }
}

function generate(name: string): Secret {
  return buildObject(Secret, {
    metadata: { name: secretName(name), labels: labelsOf(name) },
    type: 'Opaque',
    // Changing the Secret would not change the password in the database.
    immutable: true,
    stringData: { username: 'app', password: randomBytes(24).toString('base64url'), database: 'app' },
  })
}

/** The object, or undefined if it does not exist. */
export async function find<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
