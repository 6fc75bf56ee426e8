/** Parses the body of a server-side apply request, YAML or JSON. Like kube-apiserver, the last of duplicate keys wins. */
import type { JsonObject } from '../kube/objects.ts'
import { isPlainObject } from '../util/json/json.ts'
import { parseYamlLoosely, YamlError } from '../util/yaml.ts'
import { parseWholeJson } from './body.ts'
import { mismatch } from './decode.ts'
import { badRequest } from './status.ts'

export interface Configuration {
  readonly config: JsonObject
  /** Duplicate keys: `line 7: key "x" already set in map`. */
  readonly problems: readonly string[]
}

/** Throws a StatusError. */
export function parseConfiguration(text: string): Configuration {
  // Most bodies are JSON; the slower YAML parser is not needed for them.
  const json = text.startsWith('{') ? parseWholeJson(text) : undefined
  const { value, duplicates } = json === undefined ? parseYamlBody(text) : { value: json, duplicates: [] }
  if (value !== undefined && value !== null && !isPlainObject(value)) {
    const why = mismatch(value, 'value of type map[string]interface {}')
    throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`)
  }
  const problems = duplicates.map(({ key, line }) => `line ${line}: key ${JSON.stringify(key)} already set in map`)
  return { config: value ?? {}, problems }
}

function parseYamlBody(text: string): ReturnType<typeof parseYamlLoosely> {
  try {
    return parseYamlLoosely(text)
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw badRequest(`error decoding YAML: error converting YAML to JSON: yaml: ${error.message}`)
  }
}
