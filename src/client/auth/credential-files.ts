/**
 * Reads the files of credentials: returns the same credentials with the current contents in place of paths. Called when a connection is
 * made (transport.ts) and once a minute for renewed files (vault.ts).
 */
import { readFileSync } from 'node:fs'
import { ConnectionInfo, type ConnectionInfoOptions } from './connection-info.ts'
import { throwConnectionInfoError } from './connection-info-checks.ts'

const pairs = [
  ['tokenPath', 'token'],
  ['caPath', 'caData'],
  ['certificatePath', 'certificateData'],
  ['privateKeyPath', 'privateKeyData'],
] as const

/** Whether the credentials have files, which may be renewed. */
export function hasFiles(connection: ConnectionInfo): boolean {
  const options = connection.reveal()
  return pairs.some(([path]) => options[path] !== undefined)
}

/** The same credentials with contents instead of paths. Throws if a file cannot be read. */
export function readCredentialFiles(connection: ConnectionInfo): ConnectionInfo {
  const options: { -readonly [K in keyof ConnectionInfoOptions]: ConnectionInfoOptions[K] } = connection.reveal()
  for (const [pathName, dataName] of pairs) {
    const path = options[pathName]
    if (path === undefined) continue
    delete options[pathName]
    options[dataName] = pathName === 'tokenPath' ? readToken(path) : readPem(path)
  }
  return new ConnectionInfo(options)
}

function readToken(path: string): string {
  return read(path).trim() || throwConnectionInfoError(`the file "${path}" is empty; expected a token`)
}

function readPem(path: string): string {
  return toPem(read(path)) ?? throwConnectionInfoError(`the file "${path}" is not PEM`)
}

const begin = '-----BEGIN '

/** Decodes PEM or base64 of PEM; undefined for other text. */
export function toPem(text: string): string | undefined {
  if (text.includes(begin)) return text
  const decoded = Buffer.from(text, 'base64').toString('utf8')
  return decoded.includes(begin) ? decoded : undefined
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      code === 'ENOENT' ? 'is not there' : code === 'EACCES' ? 'may not be read by this user' : `gives ${code}`
    return throwConnectionInfoError(`the file "${path}" ${why}`, error)
  }
}
