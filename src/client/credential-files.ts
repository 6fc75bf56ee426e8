/**
 * The files that credentials name: their contents in the place of their paths, as they are at this moment. Read when
 * a connection is made, and now and then while it is in use, to see whether they were renewed.
 */
import { readFileSync } from 'node:fs'
import { refuseConnection } from './connection-checks.ts'
import { ConnectionInfo, type ConnectionInfoOptions } from './credentials.ts'

const pairs = [
  ['tokenPath', 'token'],
  ['caPath', 'caData'],
  ['certificatePath', 'certificateData'],
  ['privateKeyPath', 'privateKeyData'],
] as const

/** Whether there is anything that could be renewed. */
export function hasFiles(connection: ConnectionInfo): boolean {
  const options = connection.reveal()
  return pairs.some(([path]) => options[path] !== undefined)
}

/** The same credentials without any paths in them. */
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
  return read(path).trim() || refuseConnection(`the file "${path}" is empty; expected a token`)
}

function readPem(path: string): string {
  return toPem(read(path)) ?? refuseConnection(`the file "${path}" is not PEM`)
}

const begin = '-----BEGIN '

/** From PEM or base64 of PEM; undefined where it is neither. */
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
    return refuseConnection(`the file "${path}" ${why}`, error)
  }
}
