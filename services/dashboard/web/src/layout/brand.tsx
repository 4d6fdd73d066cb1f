export function Brand({ name }: { readonly name: string }) {
  return (
    <p className="brand">
      <img src="/icon.svg" alt="" />
      <span className="break">{name}</span>
    </p>
  );
}
