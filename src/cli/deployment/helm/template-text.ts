/**
 * Turns objects into the text of Helm templates. An object contains markers where the template has an action: the object is formatted as
 * YAML first, and the markers are replaced in the text. YAML with actions cannot be formatted by a library of YAML.
 */
import { formatYamlForPeople, type YamlComment } from '../../../util/yaml.ts'

/** Creates the lines of a block for the column in which the block begins. */
type Block = (column: number) => readonly string[]

const linePattern = /^( *)(?:- )?helm marker (\d+) end(?:: null)?$/gm
const valuePattern = /helm marker (\d+) end/g

/** The template of one object. */
export class TemplateText {
  readonly #values: string[] = []
  readonly #blocks = new Map<number, Block>()

  /** A marker for a scalar: `{{ expression }}`. */
  value(expression: string): string {
    return this.#add(`{{ ${expression} }}`)
  }

  /** A marker that stands for its whole line: the key of a map, with the value null, or an item of a list. */
  block(block: Block): string {
    const marker = this.#add('')
    this.#blocks.set(this.#values.length - 1, block)
    return marker
  }

  /** A map or list that is read from the values: `{{- toYaml .Values.resources | nindent 12 }}`. */
  yaml(expression: string): Record<string, null> {
    return { [this.block((column) => [`{{- ${expression} | nindent ${column} }}`])]: null }
  }

  /** An optional field or list, which is left out if the value is empty. The field is undefined for further items of a list. */
  optional(path: string, field?: string): string {
    return this.block((column) =>
      field === undefined
        ? [`{{- with .Values.${path} }}`, `{{- toYaml . | nindent ${column} }}`, '{{- end }}']
        : [`{{- with .Values.${path} }}`, `${field}:`, `  {{- toYaml . | nindent ${column + 2} }}`, '{{- end }}'],
    )
  }

  /** Fields that are written only if the condition holds. */
  when(condition: string, fields: object): Record<string, unknown> {
    const [start, end] = [`{{- if ${condition} }}`, '{{- end }}']
    return { [this.block(() => [start])]: null, ...fields, [this.block(() => [end])]: null }
  }

  format(object: object, comments: readonly YamlComment[] = []): string {
    return escapeActions(formatYamlForPeople(object, comments))
      .replaceAll(linePattern, (_, indent: string, index: string) =>
        this.#blocks.get(Number(index))!(indent.length)
          .map((line) => `${indent}${line}`)
          .join('\n'),
      )
      .replaceAll(valuePattern, (_, index: string) => this.#values[Number(index)]!)
  }

  #add(text: string): string {
    return `helm marker ${this.#values.push(text) - 1} end`
  }
}

/** Keeps `{{` of a description, a pattern or a name as it is: Helm would read it as the start of an action. */
function escapeActions(text: string): string {
  return text.replaceAll('{{', '{{ "{{" }}')
}
