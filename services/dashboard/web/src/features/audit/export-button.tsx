import { useMutation } from '@tanstack/react-query';
import { useTenant } from '../../api/tenant.ts';
import { toast } from '../../toasts.ts';
import { Button } from '../../ui/button.tsx';
import { auditCsv } from './audit-csv.ts';
import { type AuditFilter, readForExport } from './audit-queries.ts';

/** Button that downloads the matching entries as CSV. */
export function ExportButton({
  filter,
  emails,
}: {
  readonly filter: AuditFilter;
  readonly emails: ReadonlyMap<string, string>;
}) {
  const tenant = useTenant();
  const download = useMutation({
    mutationFn: () => readForExport(tenant, filter),
    onSuccess({ entries, more }) {
      save(auditCsv(entries, (actor) => emails.get(actor)));
      if (more) toast(`Exported the newest ${entries.length} entries. Filter by time to export older ones.`);
    },
    onError: (error) => toast('The audit log could not be exported.', error),
  });
  return (
    <Button busy={download.isPending} onClick={() => download.mutate()}>
      Export CSV
    </Button>
  );
}

function save(csv: string): void {
  const url = URL.createObjectURL(new Blob([csv], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = 'audit-log.csv';
  link.click();
  URL.revokeObjectURL(url);
}
