//! The daily bill of trades (交易账单). The answer with its address is signed and has its SHA-1; the file itself is not
//! signed. <https://pay.weixin.qq.com/doc/v3/merchant/4012791880>

use std::fs::File;

use anyhow::{Context, bail, ensure};
use axum::body::Bytes;
use axum::http::{Method, Request, Uri};
use jiff::civil::Date;
use ring::digest;
use serde::Deserialize;

use super::{WechatPay, refused};
use crate::china::{Columns, bill, bill_amount, from_china, id_in, lines};
use crate::provider::{Bill, found};
use domain::settlement::{BillLine, Movement};
use domain::{Currency, hex};

/// The first column of the table of trades and of the table of sums behind it.
const TIME: &str = "交易时间";
const SUMS: &str = "总交易单数";

#[derive(Deserialize)]
struct BillFile {
    download_url: String,
    hash_type: String,
    hash_value: String,
}

impl WechatPay {
    pub(super) async fn bill_of(&self, day: Date) -> anyhow::Result<Option<Bill<'_>>> {
        let path = format!("/v3/bill/tradebill?bill_date={day}&bill_type=ALL");
        let is_none = |code: &str| matches!(code, "NO_STATEMENT_EXIST" | "STATEMENT_CREATING");
        let answer = self.ask::<BillFile>(Method::GET, &path, None).await?;
        let Some(at) = found(answer, is_none, refused)? else { return Ok(None) };
        ensure!(at.hash_type == "SHA1", "a bill with the unknown checksum {}", at.hash_type);
        let mut sum = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
        let file = self.client.download(&self.download(&at.download_url)?, |part| sum.update(part)).await?;
        let fits = hex::encode(sum.finish().as_ref()).eq_ignore_ascii_case(&at.hash_value);
        ensure!(fits, "the bill that was downloaded is not the one that WeChat Pay announced (SHA-1)");
        Ok(Some(read(file, self.config.mchid.clone())))
    }

    fn download(&self, url: &str) -> anyhow::Result<Request<Bytes>> {
        ensure!(url.starts_with("https://") || self.config.is_test, "a bill at an address that is not https");
        let uri: Uri = url.parse()?;
        let path = uri.path_and_query().context("a bill without an address")?.as_str();
        self.signed(Method::GET, url, path, String::new())
    }
}

fn read(file: File, mchid: String) -> Bill<'static> {
    let mut lines = lines(file, |bytes| String::from_utf8_lossy(bytes).into_owned());
    let mut columns = None;
    bill(std::iter::from_fn(move || {
        loop {
            let text = match lines.next() {
                Some(Ok(text)) => text,
                Some(Err(error)) => return Some(Err(error)),
                None if columns.is_some() => return Some(Err(anyhow::anyhow!("the bill ends without its sums"))),
                None => return Some(Err(anyhow::anyhow!("the file is no bill"))),
            };
            match &columns {
                _ if text.trim().is_empty() => {}
                _ if text.trim_start_matches('\u{feff}').starts_with(SUMS) => return None,
                Some(columns) => {
                    if let Some(line) = line(columns, &text, &mchid).transpose() {
                        return Some(line);
                    }
                }
                None => {
                    let header = Columns::of(&text);
                    if !header.has(TIME) {
                        return Some(Err(anyhow::anyhow!("the file is no bill")));
                    }
                    columns = Some(header);
                }
            }
        }
    }))
}

/// `None`: no money moved. Each field follows a backtick.
fn line(columns: &Columns, text: &str, mchid: &str) -> anyhow::Result<Option<BillLine>> {
    let fields = columns.fields(text, ",`", "商品名称")?;
    ensure!(fields.get("商户号")? == mchid, "the bill has a line of another merchant");
    let currency = Currency::known(fields.get("货币种类")?).context("a line in an unknown currency")?;
    let amount = |name: &str| {
        let text = fields.get(name)?;
        bill_amount(text, currency).with_context(|| format!("{name} of a line is no amount: {text}"))
    };
    let payment = id_in(fields.get("商户订单号")?);
    let (line, refund, amount_of) = match fields.get("交易状态")? {
        "SUCCESS" => ("微信订单号", None, "订单金额"),
        // It went back to the merchant.
        "REFUND" | "REVOKED" if fields.get("退款状态")? == "FAIL" => return Ok(None),
        "REFUND" | "REVOKED" => ("微信退款单号", Some(id_in(fields.get("商户退款单号")?)), "申请退款金额"),
        status => bail!("a line has the unknown status {status}"),
    };
    Ok(Some(BillLine {
        line: fields.get(line)?.to_owned(),
        of: Movement { payment, refund },
        amount: amount(amount_of)?,
        fee: amount("手续费")?,
        at: from_china(fields.get(TIME)?).context("a line without a time")?,
    }))
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use std::io::{Seek, Write};

    use super::*;

    const HEADER: &str = "交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,\
        应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,\
        申请退款金额,费率备注\r\n";
    const SUMS_OF_IT: &str =
        "总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额\r\n`2,`1\r\n";

    fn trade(merchant: &str, status: &str, refund_status: &str) -> String {
        format!(
            "`2026-11-28 12:00:00,`wx1,`{merchant},`0,`,`42001,`019353d1a8b07f3e9c4d5e6f7a8b9c0d,`o1,`NATIVE,`{status},`OTHERS,`CNY,`19.99,`0.00,\
             `5001,`by-hand,`0.00,`0.00,`ORIGINAL,`{refund_status},`Phone, red,`order,`0.12000,`0.60%,`19.99,`3.00,`\r\n"
        )
    }

    async fn read_text(text: &str) -> anyhow::Result<Vec<(String, Option<String>, i64, i64)>> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        let batches: Vec<_> = read(file, "1900".to_owned()).collect().await;
        let pages = batches.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
        let told = |line: BillLine| (line.line, line.of.refund, line.amount.amount, line.fee.amount);
        Ok(pages.into_iter().flat_map(|page| page.lines).map(told).collect())
    }

    #[tokio::test]
    async fn bill_is_read_by_the_names_of_its_columns_and_refused_if_it_is_cut_off() {
        let table =
            format!("\u{feff}{HEADER}{}{}", trade("1900", "SUCCESS", ""), trade("1900", "REFUND", "PROCESSING"));
        let read = read_text(&format!("{table}{SUMS_OF_IT}")).await.unwrap();
        assert_eq!(read[0], ("42001".to_owned(), None, 1_999, 12));
        assert_eq!(read[1], ("5001".to_owned(), Some("by-hand".to_owned()), 300, 12));
        let failed = format!("{HEADER}{}{SUMS_OF_IT}", trade("1900", "REFUND", "FAIL"));
        assert_eq!(read_text(&failed).await.unwrap(), []);
        for wrong in [
            table,
            String::new(),
            "<html>".to_owned(),
            format!("{HEADER}{}{SUMS_OF_IT}", trade("1901", "SUCCESS", "")),
            format!("{HEADER}{}{SUMS_OF_IT}", trade("1900", "NEW", "")),
            format!("{HEADER}`1,`2\r\n{SUMS_OF_IT}"),
            format!("交易时间,商户号\r\n`2026-11-28 12:00:00,`1900\r\n{SUMS_OF_IT}"),
        ] {
            assert!(read_text(&wrong).await.is_err(), "{wrong}");
        }
    }
}
