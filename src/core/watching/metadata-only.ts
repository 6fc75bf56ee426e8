/** Objects without all but their metadata, as every server since 1.15 sends them to whoever asks for this form. */

/** What such objects say they are, whatever they are. */
export const metadataKind = 'PartialObjectMetadata'

/** By what is asked for. */
export const metadataForms: Readonly<Record<'list' | 'watch', string>> = {
  list: `application/json;as=${metadataKind}List;g=meta.k8s.io;v=v1`,
  watch: `application/json;as=${metadataKind};g=meta.k8s.io;v=v1`,
}
