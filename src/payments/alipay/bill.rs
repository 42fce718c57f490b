//! The daily bill of trades (业务账单): an archive with tables in GBK. Its address lasts half a minute.
//! <https://opendocs.alipay.com/open/02e7gr>

use std::fs::File;
use std::io::BufReader;

use anyhow::{Context, bail, ensure};
use axum::body::Bytes;
use axum::http::Request;
use encoding_rs::GB18030;
use jiff::civil::Date;
use serde::Deserialize;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::{Alipay, refused};
use crate::china::{Columns, Lines, bill, bill_amount, from_china, id_in, lines, unpacked};
use crate::provider::{Bill, found};
use domain::settlement::{BillLine, Movement};
use domain::{Currency, Money};

/// Columns that only the table of trades has.
const PAYMENT: &str = "商户订单号";
const REFUND: &str = "退款批次号/请求号";

#[derive(Deserialize)]
struct BillFile {
    bill_download_url: String,
}

impl Alipay {
    pub(super) async fn bill_of(&self, day: Date) -> anyhow::Result<Option<Bill<'_>>> {
        let asked = json!({"bill_type": "trade", "bill_date": day.to_string()});
        let answer = self.ask::<BillFile>("alipay.data.dataservice.bill.downloadurl.query", &asked).await?;
        let at = found(answer, |code| code.eq_ignore_ascii_case("isp.bill_not_exist"), refused)?;
        let Some(BillFile { bill_download_url: url }) = at else { return Ok(None) };
        // Addresses begin with http:// at times. Nothing but TLS says that the file is Alipay's.
        let url = match url.strip_prefix("http://") {
            Some(rest) if !self.config.is_test => format!("https://{rest}"),
            _ => url,
        };
        let file = self.client.download(&Request::get(url).body(Bytes::new())?, |_| {}).await?;
        spawn_blocking(move || read(file)).await?.map(Some)
    }
}

fn read(archive: File) -> anyhow::Result<Bill<'static>> {
    for file in unpacked(archive)? {
        let mut lines = lines(file?, |bytes| GB18030.decode(bytes).0.into_owned());
        while let Some(text) = lines.next() {
            let columns = Columns::of(&text?);
            if columns.has(PAYMENT) && columns.has(REFUND) {
                return Ok(bill(trades(lines, columns)));
            }
        }
    }
    bail!("the archive has no table of trades")
}

/// The lines between the header and the end of the table. Lines that are not of the table begin with `#`.
fn trades(
    mut lines: Lines<BufReader<File>>,
    columns: Columns,
) -> impl Iterator<Item = anyhow::Result<BillLine>> + Send + 'static {
    std::iter::from_fn(move || {
        loop {
            match lines.next()? {
                Ok(text) if text.trim().is_empty() || text.starts_with('#') => {}
                Ok(text) => return Some(line(&columns, &text)),
                Err(error) => return Some(Err(error)),
            }
        }
    })
}

/// Numbers end with a tab, so that spreadsheets leave them as they are.
fn line(columns: &Columns, text: &str) -> anyhow::Result<BillLine> {
    let fields = columns.fields(text, ",", "商品名称")?;
    let amount = |name: &str| {
        let text = fields.get(name)?;
        bill_amount(text, Currency::CNY).with_context(|| format!("{name} of a line is no amount: {text}"))
    };
    let (trade, payment) = (fields.get("支付宝交易号")?, id_in(fields.get(PAYMENT)?));
    let (line, refund) = match fields.get("业务类型")? {
        "交易" => (trade.to_owned(), None),
        "退款" => {
            let refund = fields.get(REFUND)?;
            ensure!(!refund.is_empty(), "a refund without a number");
            (format!("{trade} {refund}"), Some(id_in(refund)))
        }
        kind => bail!("a line has the unknown kind {kind}"),
    };
    let (amount, fee) = (amount("订单金额（元）")?, amount("服务费（元）")?);
    Ok(BillLine {
        line,
        of: Movement { payment, refund },
        // Refunds are negative, and so are the fees of charges.
        amount: Money { amount: amount.amount.abs(), ..amount },
        fee: Money { amount: -fee.amount, ..fee },
        at: from_china(fields.get("完成时间")?).context("a line without a time")?,
    })
}
